"use client";

import { useQuery } from "@tanstack/react-query";

import { Button } from "@/components/ui/button";
import { Input } from "@/components/ui/field";
import { Select } from "@/components/ui/select";

import { ACTIONS, actionWords, type AuditFilterValues } from "./audit-values";
import { memberNamesQuery, tokenNamesQuery } from "./queries";

export function AuditFilter({ values, onChange }: { values: AuditFilterValues; onChange: (change: Partial<AuditFilterValues>) => void }) {
  const members = useQuery(memberNamesQuery());
  const tokens = useQuery(tokenNamesQuery());
  const actors = [
    ...(members.data?.members ?? []).map((member) => ({ id: member.user_id, name: member.email })),
    ...(tokens.data?.access_tokens ?? []).map((token) => ({ id: token.token_id, name: `token ${token.name}` })),
  ];
  const isFiltered = Object.values(values).some((value) => value !== "");
  return (
    <div role="search" aria-label="Audit log" className="bar max-md:grid max-md:grid-cols-2">
      <Select
        className="md:w-auto md:max-w-[240px]"
        aria-label="Who"
        value={values.who}
        onChange={(event) => onChange({ who: event.target.value })}
      >
        <option value="">Anyone</option>
        {values.who && actors.every((actor) => actor.id !== values.who) && <option value={values.who}>{values.who}</option>}
        {actors.map((actor) => (
          <option key={actor.id} value={actor.id}>
            {actor.name}
          </option>
        ))}
      </Select>
      <Select
        className="md:w-auto md:max-w-[240px]"
        aria-label="What"
        value={values.action}
        onChange={(event) => onChange({ action: event.target.value })}
      >
        <option value="">Anything</option>
        {ACTIONS.map((action) => (
          <option key={action} value={action}>
            {actionWords(action)}
          </option>
        ))}
      </Select>
      <label className="flex items-center gap-2 text-text-2 max-md:flex-col max-md:items-start max-md:gap-0">
        From <Input className="md:w-auto" type="date" value={values.since} onChange={(event) => onChange({ since: event.target.value })} />
      </label>
      <label className="flex items-center gap-2 text-text-2 max-md:flex-col max-md:items-start max-md:gap-0">
        To <Input className="md:w-auto" type="date" value={values.until} onChange={(event) => onChange({ until: event.target.value })} />
      </label>
      {isFiltered && (
        <Button variant="quiet" onClick={() => onChange({ who: "", action: "", since: "", until: "" })}>
          Clear
        </Button>
      )}
    </div>
  );
}
