"use client";

import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { toast } from "sonner";

import { answered, api, type Schemas } from "@/api/client";
import { ConfirmDialog } from "@/components/ui/dialog";
import { ErrorState, SkeletonBlock, tellFailure } from "@/components/feedback";
import { Pager } from "@/components/pager";
import { Time } from "@/components/time";
import { Button } from "@/components/ui/button";
import { browserName } from "@/lib/browser-name";

import { sessionKeys, SESSIONS_A_PAGE, sessionsQuery } from "./queries";

type OpenSession = Schemas["OpenSession"];

/** The browsers in which the person is signed in; each but this one can be signed out from here. */
export function OpenSessions() {
  const client = useQueryClient();
  const [page, setPage] = useState(1);
  const skip = (page - 1) * SESSIONS_A_PAGE;
  const { data, error, refetch } = useQuery(sessionsQuery(skip));
  const [ending, setEnding] = useState<OpenSession | null>(null);
  const end = useMutation({
    mutationFn: (wanted: OpenSession) =>
      answered(api.DELETE("/v0/auth/sessions/{session_id}", { params: { path: { session_id: wanted.session_id } } })),
    onSuccess: (_, wanted) => toast(`${browserName(wanted.user_agent)} signed out`),
    onError: (failure) => tellFailure("The browser was not signed out", failure),
    onSettled: async () => {
      if (data && data.sessions.length === 1 && page > 1) setPage(page - 1);
      await client.invalidateQueries({ queryKey: sessionKeys.all });
    },
  });
  return (
    <section aria-labelledby="sessions" className="flex flex-col gap-2 border-t border-line pt-5">
      <h2 id="sessions" className="text-lg font-semibold">
        Where you are signed in
      </h2>
      {error && !data ? (
        <ErrorState error={error} retry={() => void refetch()} />
      ) : !data ? (
        <SkeletonBlock lines={3} />
      ) : (
        <ul className="border-t border-line">
          {data.sessions.map((item) => (
            <li key={item.session_id} className="flex min-h-14 items-center gap-3 border-b border-line py-2">
              <span className="flex min-w-0 flex-1 flex-col">
                <span className="truncate font-medium" title={item.user_agent ?? undefined}>
                  {browserName(item.user_agent)}
                </span>
                <span className="text-text-2">
                  {item.address && <span className="break-all">{item.address} · </span>}
                  since <Time at={item.created_at} /> · last used <Time at={item.last_seen_at} />
                </span>
              </span>
              {item.is_current ? (
                <span className="text-text-2">This browser</span>
              ) : (
                <Button
                  size="small"
                  aria-label={`Sign out ${browserName(item.user_agent)}`}
                  disabled={end.isPending}
                  onClick={() => setEnding(item)}
                >
                  Sign out
                </Button>
              )}
            </li>
          ))}
        </ul>
      )}
      {data && data.total_count > SESSIONS_A_PAGE && (
        <Pager
          skip={data.skip}
          shown={data.sessions.length}
          total={data.total_count}
          page={page}
          pageCount={Math.ceil(data.total_count / SESSIONS_A_PAGE)}
          onPage={setPage}
        />
      )}
      <ConfirmDialog
        open={ending !== null}
        onOpenChange={(isOpen) => !isOpen && setEnding(null)}
        title={`Sign out ${browserName(ending?.user_agent ?? null)}?`}
        action="Sign this browser out"
        onConfirm={() => ending && end.mutate(ending)}
      >
        The browser is signed out at once. If this was not you, also change your password.
      </ConfirmDialog>
    </section>
  );
}
