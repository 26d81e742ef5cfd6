"use client";

import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { Plus } from "lucide-react";
import { parseAsInteger, useQueryState } from "nuqs";
import { useState } from "react";
import { toast } from "sonner";

import { answered, api, idempotencyKey, organizationPath, type Schemas } from "@/api/client";
import { ConfirmDialog, Dialog } from "@/components/ui/dialog";
import { EmptyState, ErrorState, SkeletonRows, tellFailure } from "@/components/feedback";
import { Field, formError, Input } from "@/components/ui/field";
import { OnlyWhoMay } from "@/components/may";
import { Pager } from "@/components/pager";
import { SecretOnce } from "@/components/secret-once";
import { Banner, State } from "@/components/state";
import { Time } from "@/components/time";
import { Button } from "@/components/ui/button";
import { DataTable } from "@/components/ui/data-table";
import { Select } from "@/components/ui/select";
import { useNow } from "@/state/now";
import { usePermissions } from "@/state/permissions";
import { useLastPage } from "@/state/use-last-page";

import { SettingsHead } from "./settings-tabs";
import { ROWS_A_PAGE, tokenKeys, tokensQuery } from "./queries";

type AccessToken = Schemas["AccessTokenResponse"];

export function AccessTokens() {
  const { isKnown, may } = usePermissions();
  if (isKnown && may("list_access_tokens")) return <TokenList />;
  return (
    <>
      <SettingsHead />
      <OnlyWhoMay to="list_access_tokens" what="see and make access tokens">
        {null}
      </OnlyWhoMay>
    </>
  );
}

function TokenList() {
  const { permission } = usePermissions();
  const client = useQueryClient();
  const [page, setPage] = useQueryState("page", parseAsInteger.withDefault(1));
  const skip = (Math.max(1, page) - 1) * ROWS_A_PAGE;
  const { data, error, refetch } = useQuery(tokensQuery(skip));
  useLastPage(page, data?.total_count, ROWS_A_PAGE, (last) => setPage(last, { history: "replace" }));
  const [isCreating, setCreating] = useState(false);
  const [revoked, setRevoked] = useState<AccessToken | null>(null);
  const revoke = useMutation({
    mutationFn: (token: AccessToken) =>
      answered(
        api.DELETE("/v0/orgs/{organization_id}/access-tokens/{token_id}", {
          params: { path: { ...organizationPath(), token_id: token.token_id } },
        }),
      ),
    onSuccess: async (_, token) => {
      toast(`${token.name} is revoked`);
      await client.invalidateQueries({ queryKey: tokenKeys.all });
    },
    onError: (failure) => tellFailure("The token was not revoked", failure),
  });
  const takeOver = useMutation({
    mutationFn: (token: AccessToken) =>
      answered(
        api.POST("/v0/orgs/{organization_id}/access-tokens/{token_id}/take-over", {
          params: { path: { ...organizationPath(), token_id: token.token_id } },
        }),
      ),
    onSuccess: async (_, token) => {
      toast(`${token.name} now depends on you`);
      await client.invalidateQueries({ queryKey: tokenKeys.all });
    },
    onError: (failure) => tellFailure("The token was not taken over", failure),
  });
  return (
    <>
      <SettingsHead>
        <Button variant="primary" onClick={() => setCreating(true)}>
          <Plus aria-hidden size={14} /> New token
        </Button>
      </SettingsHead>
      <div className="min-h-0 flex-1 overflow-auto">
        {error && !data ? (
          <ErrorState error={error} retry={() => void refetch()} />
        ) : data?.total_count === 0 ? (
          <EmptyState title="No access tokens" />
        ) : (
          <DataTable
            caption="Access tokens"
            isCards
            head={
              <>
                <th data-column="name" className="pl-4!">
                  Name
                </th>
                <th className="w-[90px] max-md:hidden">May</th>
                <th className="w-[130px] max-md:hidden">State</th>
                <th className="w-[130px] max-md:hidden">Last used</th>
                <th className="w-[130px] @max-[1150px]:hidden">Created</th>
                <th className="w-[150px] @max-[1020px]:hidden">Made by</th>
                <th className="w-[130px] @max-[870px]:hidden">Expires</th>
                <th className="w-[190px]">
                  <span className="sr-only">Actions</span>
                </th>
              </>
            }
          >
            {data === undefined ? (
              <SkeletonRows rows={4} columns={["40%", "60%", "60%", "60%", "60%", "60%", "60%", "60%"]} />
            ) : (
              data.access_tokens.map((token) => (
                <tr key={token.token_id}>
                  <td className="pl-4! font-medium" title={token.name}>
                    {token.name}
                    <span className="block font-normal md:hidden">
                      <TokenState token={token} />
                    </span>
                  </td>
                  <td className="text-text-2 max-md:hidden">{token.scope}</td>
                  <td className="max-md:hidden">
                    <TokenState token={token} />
                  </td>
                  <td className="text-text-2 max-md:hidden">{token.last_used_at ? <Time at={token.last_used_at} /> : "never"}</td>
                  <td className="text-text-2 @max-[1150px]:hidden">
                    <Time at={token.created_at} />
                  </td>
                  <td className="truncate text-text-2 @max-[1020px]:hidden" title={token.made_by?.name}>
                    {token.made_by?.name ?? "unknown"}
                  </td>
                  <td className="text-text-2 @max-[870px]:hidden">
                    {token.expires_at ? <Time at={token.expires_at} isPlanned /> : "never"}
                  </td>
                  <td className="text-right">
                    {isBoundByItsMaker(token) && (token.scope !== "admin" || permission === "owner") && (
                      <Button
                        variant="quiet"
                        size="small"
                        aria-label={`Take over ${token.name}`}
                        disabled={takeOver.isPending}
                        onClick={() => takeOver.mutate(token)}
                      >
                        Take over
                      </Button>
                    )}
                    {!token.revoked_at && (token.scope !== "admin" || permission === "owner") && (
                      <Button
                        variant="quiet"
                        size="small"
                        className="text-failed"
                        aria-label={`Revoke ${token.name}`}
                        onClick={() => setRevoked(token)}
                      >
                        Revoke
                      </Button>
                    )}
                  </td>
                </tr>
              ))
            )}
          </DataTable>
        )}
      </div>
      {data && data.total_count > ROWS_A_PAGE && (
        <Pager
          skip={data.skip}
          shown={data.access_tokens.length}
          total={data.total_count}
          page={page}
          pageCount={Math.ceil(data.total_count / ROWS_A_PAGE)}
          onPage={(next) => void setPage(next, { history: "push" })}
        />
      )}
      {isCreating && <CreateDialog onClose={() => setCreating(false)} />}
      <ConfirmDialog
        open={revoked !== null}
        onOpenChange={(isOpen) => !isOpen && setRevoked(null)}
        title={`Revoke ${revoked?.name ?? ""}?`}
        action="Revoke the token"
        onConfirm={() => revoked && revoke.mutate(revoked)}
      >
        What uses it is refused from the next call on. If you signed in with it, you are signed out. This cannot be undone.
      </ConfirmDialog>
    </>
  );
}

const PERMISSION_OF: Record<Schemas["TokenScope"], Schemas["Permission"]> = { read: "read", write: "write", admin: "owner" };

/** Whether a token allows less than its scope, because its maker has left or has another role. */
function isBoundByItsMaker(token: AccessToken) {
  const isOver = token.revoked_at || (token.expires_at && Date.parse(token.expires_at) <= Date.now());
  return !isOver && token.permission !== PERMISSION_OF[token.scope];
}

function TokenState({ token }: { token: AccessToken }) {
  const now = useNow();
  if (token.revoked_at) return <State tone="absent">Revoked</State>;
  if (token.expires_at && Date.parse(token.expires_at) <= now) return <State tone="absent">Expired</State>;
  if (token.permission === null) return <State tone="absent">Maker has left</State>;
  if (isBoundByItsMaker(token)) return <State tone="warning">May only {token.permission}</State>;
  return <State tone="ready">Valid</State>;
}

const SCOPES: { scope: Schemas["TokenScope"]; may: string }[] = [
  { scope: "read", may: "See and search" },
  { scope: "write", may: "Change documents, tags and knowledge bases" },
  { scope: "admin", may: "Everything; only an owner makes such a token" },
];
const LIFETIMES = [
  { days: 30, label: "30 days" },
  { days: 90, label: "90 days" },
  { days: 365, label: "1 year" },
  { days: 0, label: "Never" },
];

function CreateDialog({ onClose }: { onClose: () => void }) {
  const client = useQueryClient();
  const [name, setName] = useState("");
  const [days, setDays] = useState(90);
  const { permission } = usePermissions();
  const [scope, setScope] = useState<Schemas["TokenScope"]>("write");
  const create = useMutation({
    mutationFn: () =>
      answered(
        api.POST("/v0/orgs/{organization_id}/access-tokens", {
          params: { path: organizationPath() },
          body: { name: name.trim(), scope, ...(days > 0 && { expires_at: new Date(Date.now() + days * 86_400_000).toISOString() }) },
          headers: idempotencyKey(),
        }),
      ),
    onSuccess: () => client.invalidateQueries({ queryKey: tokenKeys.all }),
  });
  const made = create.data;
  if (made) {
    return (
      <SecretOnce
        title={`Token ${made.name}`}
        description="Copy it now: it is not stored, and cannot be shown again."
        label="Access token"
        secret={made.token}
        onClose={onClose}
      />
    );
  }
  const general = formError(create.error, ["name"]);
  return (
    <Dialog
      open
      onOpenChange={(isOpen) => !isOpen && onClose()}
      title="New access token"
      footer={
        <>
          <Button onClick={onClose}>Cancel</Button>
          <Button type="submit" form="token-form" variant="primary" disabled={create.isPending || name.trim() === ""}>
            Create the token
          </Button>
        </>
      }
    >
      <form
        id="token-form"
        className="flex flex-col gap-3"
        onSubmit={(event) => {
          event.preventDefault();
          create.mutate();
        }}
      >
        {general && <Banner tone="failed">{general}</Banner>}
        <Field label="Name" hint="What or who uses it" error={create.error} field="name">
          <Input autoFocus required maxLength={100} value={name} onChange={(event) => setName(event.target.value)} />
        </Field>
        <Field label="May" hint={SCOPES.find((item) => item.scope === scope)?.may ?? ""}>
          <Select value={scope} onChange={(event) => setScope(event.target.value as Schemas["TokenScope"])}>
            {SCOPES.filter((item) => item.scope !== "admin" || permission === "owner").map((item) => (
              <option key={item.scope}>{item.scope}</option>
            ))}
          </Select>
        </Field>
        <Field label="Expires">
          <Select value={days} onChange={(event) => setDays(Number(event.target.value))}>
            {LIFETIMES.map((lifetime) => (
              <option key={lifetime.days} value={lifetime.days}>
                {lifetime.label}
              </option>
            ))}
          </Select>
        </Field>
      </form>
    </Dialog>
  );
}
