"use client";

import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { Plus } from "lucide-react";
import dynamic from "next/dynamic";
import { parseAsInteger, useQueryState } from "nuqs";
import { useState } from "react";
import { toast } from "sonner";

import { answered, api, organizationPath, type Schemas } from "@/api/client";
import { ConfirmDialog } from "@/components/ui/dialog";
import { EmptyState, ErrorState, SkeletonRows, tellFailure } from "@/components/feedback";
import { OnlyWhoMay } from "@/components/may";
import { Pager } from "@/components/pager";
import { State } from "@/components/state";
import { Time } from "@/components/time";
import { Button } from "@/components/ui/button";
import { DataTable } from "@/components/ui/data-table";
import { useNow } from "@/state/now";
import { usePermissions } from "@/state/permissions";
import { useLastPage } from "@/state/use-last-page";

import { ROWS_A_PAGE, tokenKeys, tokensQuery } from "./queries";
import { SettingsHead } from "./settings-tabs";

const TokenDialog = dynamic(() => import("./token-dialog").then((module) => module.TokenDialog), { ssr: false });

type AccessToken = Schemas["AccessTokenResponse"];

export function AccessTokens() {
  const { isKnown, may } = usePermissions();
  if (isKnown && may("list_access_tokens")) return <TokenList />;
  return (
    <>
      <SettingsHead />
      <OnlyWhoMay to="list_access_tokens" what="view and create access tokens">
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
      toast(`${token.name} revoked`);
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
      toast(`${token.name} is now yours`);
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
                <th className="w-[90px] max-md:hidden">Scope</th>
                <th className="w-[130px] max-md:hidden">State</th>
                <th className="w-[130px] max-md:hidden">Last used</th>
                <th className="w-[130px] @max-[1150px]:hidden">Created</th>
                <th className="w-[150px] @max-[1020px]:hidden">Created by</th>
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
      {isCreating && <TokenDialog onClose={() => setCreating(false)} />}
      <ConfirmDialog
        open={revoked !== null}
        onOpenChange={(isOpen) => !isOpen && setRevoked(null)}
        title={`Revoke ${revoked?.name ?? ""}?`}
        action="Revoke token"
        onConfirm={() => revoked && revoke.mutate(revoked)}
      >
        Programs that use this token lose access at once. If you signed in with it, you are signed out. This cannot be undone.
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
  if (token.permission === null) return <State tone="absent">Creator has left</State>;
  if (isBoundByItsMaker(token)) return <State tone="warning">Limited to {token.permission}</State>;
  return <State tone="ready">Valid</State>;
}
