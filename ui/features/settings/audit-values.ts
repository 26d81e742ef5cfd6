import { parseAsString, useQueryStates } from "nuqs";

/** What the API notes, as it names it; `api/permissions.py` says which. */
export const ACTIONS = [
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
