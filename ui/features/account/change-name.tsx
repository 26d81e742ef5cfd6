"use client";

import { useMutation, useQueryClient } from "@tanstack/react-query";
import { toast } from "sonner";
import * as z from "zod/mini";

import { answered, api } from "@/api/client";
import { memberKeys } from "@/api/keys";
import { Button } from "@/components/ui/button";
import { Form, FormFailure, showFailure, TextField, useSchemaForm } from "@/components/ui/form";
import { required } from "@/lib/checks";
import { type PersonSession, session } from "@/state/session";

import { sessionKeys } from "./queries";

const SCHEMA = z.object({ name: required("Enter your name.") });

/** Changes the person's name in all organizations. */
export function ChangeName({ person, name }: { person: PersonSession; name: string }) {
  const client = useQueryClient();
  const form = useSchemaForm(SCHEMA, { name });
  const change = useMutation({
    mutationFn: ({ name: wanted }: z.infer<typeof SCHEMA>) => answered(api.PUT("/v0/auth/name", { body: { name: wanted.trim() } })),
    onSuccess: async (answer) => {
      client.setQueryData(sessionKeys.own, answer);
      session.beginAs(answer, person.organizationId);
      form.reset({ name: answer.name });
      toast(`Name changed to ${answer.name}`);
      await client.invalidateQueries({ queryKey: memberKeys.all });
    },
    onError: (error) => showFailure(form, error),
  });
  return (
    <Form form={form} className="flex max-w-[360px] flex-col gap-3" onSubmit={(values) => change.mutate(values)}>
      <FormFailure control={form.control} />
      <TextField
        control={form.control}
        name="name"
        label="Name"
        hint="Shown to the other members of your organizations"
        required
        maxLength={100}
        autoComplete="name"
      />
      <Button type="submit" className="self-start" disabled={!form.formState.isDirty || change.isPending}>
        {change.isPending ? "Saving…" : "Save name"}
      </Button>
    </Form>
  );
}
