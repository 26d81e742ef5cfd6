"use client";

import { useMutation } from "@tanstack/react-query";
import { useWatch } from "react-hook-form";
import * as z from "zod/mini";

import { answered, api, idempotencyKey, organizationPath } from "@/api/client";
import { SecretOnce } from "@/components/secret-once";
import { Button } from "@/components/ui/button";
import { Dialog } from "@/components/ui/dialog";
import { Form, FormFailure, SelectField, showFailure, TextField, useSchemaForm } from "@/components/ui/form";
import { emailAddress } from "@/lib/checks";
import { usePermissions } from "@/state/permissions";

import { rolesFor } from "./roles";

const SCHEMA = z.object({ email: emailAddress(), role: z.enum(["viewer", "editor", "admin", "owner"]) });

/** Invites a person by e-mail; without a mail server, shows the link to hand over. */
export function InviteDialog({ onClose, onInvited }: { onClose: () => void; onInvited: () => unknown }) {
  const { permission } = usePermissions();
  const form = useSchemaForm(SCHEMA, { email: "", role: "editor" });
  const role = useWatch({ control: form.control, name: "role" });
  const roles = rolesFor(permission);
  const invite = useMutation({
    mutationFn: ({ email, role }: z.infer<typeof SCHEMA>) =>
      answered(
        api.POST("/v0/orgs/{organization_id}/invitations", {
          params: { path: organizationPath() },
          body: { email: email.trim(), role },
          headers: idempotencyKey(),
        }),
      ),
    onSuccess: onInvited,
    onError: (error) => showFailure(form, error),
  });
  if (invite.data?.is_mailed) {
    return (
      <Dialog
        open
        onOpenChange={(isOpen) => !isOpen && onClose()}
        title="Invitation sent"
        footer={
          <Button variant="primary" onClick={onClose}>
            Done
          </Button>
        }
      >
        <p>We sent a link to {invite.data.email}. It works once.</p>
      </Dialog>
    );
  }
  if (invite.data) {
    return (
      <SecretOnce
        title={`Invitation for ${invite.data.email ?? ""}`}
        description="Send this link to the person. It works once and cannot be shown again."
        label="Invitation link"
        secret={`${location.origin}/invite/#${invite.data.token}`}
        onClose={onClose}
      />
    );
  }
  return (
    <Dialog
      open
      onOpenChange={(isOpen) => !isOpen && onClose()}
      title="Invite a person"
      footer={
        <>
          <Button onClick={onClose}>Cancel</Button>
          <Button type="submit" form="invite-form" variant="primary" disabled={invite.isPending}>
            Invite
          </Button>
        </>
      }
    >
      <Form form={form} id="invite-form" className="flex flex-col gap-3" onSubmit={(values) => invite.mutate(values)}>
        <FormFailure control={form.control} />
        <TextField control={form.control} name="email" label="E-mail address" type="email" autoFocus required />
        <SelectField control={form.control} name="role" label="Role" hint={roles.find((item) => item.role === role)?.may}>
          {roles.map((item) => (
            <option key={item.role}>{item.role}</option>
          ))}
        </SelectField>
      </Form>
    </Dialog>
  );
}
