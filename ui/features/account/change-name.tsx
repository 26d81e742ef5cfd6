"use client";

import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { toast } from "sonner";

import { answered, api } from "@/api/client";
import { memberKeys } from "@/api/keys";
import { Field, formError, Input } from "@/components/ui/field";
import { Banner } from "@/components/state";
import { Button } from "@/components/ui/button";
import { type PersonSession, session } from "@/state/session";

import { sessionKeys } from "./queries";

/** What the person is called, in all organizations. */
export function ChangeName({ person, name }: { person: PersonSession; name: string }) {
  const client = useQueryClient();
  const [edited, setEdited] = useState<string | null>(null);
  const wanted = edited ?? name;
  const change = useMutation({
    mutationFn: () => answered(api.PUT("/v0/auth/name", { body: { name: wanted.trim() } })),
    onSuccess: async (answer) => {
      client.setQueryData(sessionKeys.own, answer);
      session.beginAs(answer, person.organizationId);
      setEdited(null);
      toast(`You are called ${answer.name} now`);
      await client.invalidateQueries({ queryKey: memberKeys.all });
    },
  });
  const general = formError(change.error, ["name"]);
  const isChanged = wanted.trim() !== name && wanted.trim() !== "";
  return (
    <form
      className="flex max-w-[360px] flex-col gap-3"
      onSubmit={(event) => {
        event.preventDefault();
        if (isChanged) change.mutate();
      }}
    >
      {general && <Banner tone="failed">{general}</Banner>}
      <Field label="Name" hint="As the other members of your organizations see it" error={change.error} field="name">
        <Input required maxLength={100} autoComplete="name" value={wanted} onChange={(event) => setEdited(event.target.value)} />
      </Field>
      <Button type="submit" className="self-start" disabled={!isChanged || change.isPending}>
        {change.isPending ? "Saving…" : "Save the name"}
      </Button>
    </form>
  );
}
