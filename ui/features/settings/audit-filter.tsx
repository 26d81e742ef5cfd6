"use client";

import { useQuery } from "@tanstack/react-query";
import { parseAsString, useQueryStates } from "nuqs";

import { answered, api, organizationPath } from "@/api/client";

/** What the API notes, as it names it; `api/permissions.py` says which. */
const ACTIONS = [
  "sign_in",
  "sign_out",
  "sign_out_everywhere",
  "end_session",
  "change_name",
  "change_password",
  "reset_password",
  "accept_invitation",
  "create_invitation",
  "delete_invitation",
  "update_member",
  "delete_member",
  "create_access_token",
  "revoke_access_token",
  "put_llm_provider",
  "delete_llm_provider",
  "test_llm_provider",
  "update_organization",
  "update_organization_settings",
  "update_retention",
  "declare_metadata_fields",
  "delete_document",
  "delete_tag",
  "delete_knowledge_base",
  "delete_prompt",
  "delete_chat_thread",
  "download_prompt_results",
  "create_erasure",
  "create_reconcile_run",
  "create_knowledge_base_reconcile_run",
  "delete_organization",
].sort();

/** The filters of the audit log, in its address. */
export function useAuditFilter() {
  return useQueryStates({
    action: parseAsString.withDefault(""),
    who: parseAsString.withDefault(""),
    since: parseAsString.withDefault(""),
    until: parseAsString.withDefault(""),
  });
}

export type AuditFilterValues = ReturnType<typeof useAuditFilter>[0];

function startOf(day: string, later = 0): string | null {
  const moment = new Date(`${day}T00:00:00`);
  if (Number.isNaN(moment.getTime())) return null;
  moment.setDate(moment.getDate() + later);
  return moment.toISOString();
}

/** As the API takes them: days are those of whoever looks, the last one included. */
export function auditQuery({ action, who, since, until }: AuditFilterValues) {
  const from = startOf(since);
  const to = startOf(until, 1);
  return { ...(action && { action }), ...(who && { actor_id: who }), ...(from && { since: from }), ...(to && { until: to }) };
}

/** "put_llm_provider" as one would say it. */
export function actionWords(action: string): string {
  const words = action
    .replace(/^put_/, "set_")
    .replaceAll("_", " ")
    .replaceAll("llm provider", "provider key")
    .replace("reconcile run", "health run");
  return words.charAt(0).toUpperCase() + words.slice(1);
}

export function AuditFilter({ values, onChange }: { values: AuditFilterValues; onChange: (change: Partial<AuditFilterValues>) => void }) {
  const members = useQuery({
    queryKey: ["members", "names"],
    queryFn: ({ signal }) =>
      answered(api.GET("/v0/orgs/{organization_id}/members", { params: { path: organizationPath(), query: { limit: 100 } }, signal })),
  });
  const tokens = useQuery({
    queryKey: ["tokens", "names"],
    queryFn: ({ signal }) =>
      answered(
        api.GET("/v0/orgs/{organization_id}/access-tokens", { params: { path: organizationPath(), query: { limit: 100 } }, signal }),
      ),
  });
  const actors = [
    ...(members.data?.members ?? []).map((member) => ({ id: member.user_id, name: member.email })),
    ...(tokens.data?.access_tokens ?? []).map((token) => ({ id: token.token_id, name: `token ${token.name}` })),
  ];
  const isFiltered = Object.values(values).some((value) => value !== "");
  return (
    <div role="search" aria-label="Audit log" className="bar max-md:grid max-md:grid-cols-2">
      <select
        className="field md:w-auto md:max-w-[240px]"
        aria-label="Who"
        value={values.who}
        onChange={(event) => onChange({ who: event.target.value })}
      >
        <option value="">Anybody</option>
        {values.who && actors.every((actor) => actor.id !== values.who) && <option value={values.who}>{values.who}</option>}
        {actors.map((actor) => (
          <option key={actor.id} value={actor.id}>
            {actor.name}
          </option>
        ))}
      </select>
      <select
        className="field md:w-auto md:max-w-[240px]"
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
      </select>
      <label className="flex items-center gap-2 text-text-2 max-md:flex-col max-md:items-start max-md:gap-0">
        From{" "}
        <input className="field md:w-auto" type="date" value={values.since} onChange={(event) => onChange({ since: event.target.value })} />
      </label>
      <label className="flex items-center gap-2 text-text-2 max-md:flex-col max-md:items-start max-md:gap-0">
        To{" "}
        <input className="field md:w-auto" type="date" value={values.until} onChange={(event) => onChange({ until: event.target.value })} />
      </label>
      {isFiltered && (
        <button type="button" className="button button-quiet" onClick={() => onChange({ who: "", action: "", since: "", until: "" })}>
          Clear
        </button>
      )}
    </div>
  );
}
