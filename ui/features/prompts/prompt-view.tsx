"use client";

import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { Copy, Play, Trash2 } from "lucide-react";
import dynamic from "next/dynamic";
import { useRouter } from "next/navigation";
import { parseAsString, parseAsStringLiteral, useQueryStates } from "nuqs";
import { useState } from "react";
import { toast } from "sonner";

import { answered, api, organizationPath } from "@/api/client";
import { promptKeys } from "@/api/keys";
import { ConfirmDialog } from "@/components/ui/dialog";
import { EmptyState, ErrorState, SkeletonBlock, tellFailure } from "@/components/feedback";
import { PageHead } from "@/components/page-head";
import { Tabs } from "@/components/tabs";
import { Button, ButtonLink } from "@/components/ui/button";
import { formatCount, plural } from "@/lib/format";
import { useMay } from "@/state/permissions";

import { EditTab } from "./edit-tab";
import { type Prompt, promptQuery, QUIET_MILLISECONDS, resultsQuery, runsQuery } from "./queries";
import { RunsTab } from "./runs-tab";

// Loaded when they are first wanted.
const ResultsTab = dynamic(() => import("./results-tab").then((module) => module.ResultsTab), {
  loading: () => <SkeletonBlock lines={6} />,
});
const VersionsTab = dynamic(() => import("./versions-tab").then((module) => module.VersionsTab), {
  loading: () => <SkeletonBlock lines={6} />,
});
const RunDialog = dynamic(() => import("./run-dialog").then((module) => module.RunDialog), { ssr: false });

const PARENT = { href: "/prompts/", label: "Prompts" };
const TABS = ["edit", "versions", "runs", "results"] as const;

export function PromptView() {
  const mayChange = useMay("update_prompt");
  const [url] = useQueryStates({ id: parseAsString.withDefault(""), tab: parseAsStringLiteral(TABS) });
  const [isRunning, setRunning] = useState(false);
  const { data: prompt, error, refetch } = useQuery({ ...promptQuery(url.id), refetchInterval: QUIET_MILLISECONDS });
  if (!prompt) {
    return (
      <>
        <PageHead title="Prompt" parent={PARENT} />
        {error ? (
          <ErrorState error={error} retry={() => void refetch()} />
        ) : url.id === "" ? (
          <EmptyState title="No prompt selected" />
        ) : (
          <SkeletonBlock lines={8} />
        )}
      </>
    );
  }
  // Who may not change a prompt reads it under its versions.
  const tab = !mayChange && (url.tab ?? "edit") === "edit" ? "versions" : (url.tab ?? "edit");
  const at = (name: (typeof TABS)[number]) => `/prompts/view/?id=${url.id}&tab=${name}`;
  return (
    <>
      <Head prompt={prompt} mayChange={mayChange} onRun={() => setRunning(true)} />
      <Tabs
        label="Prompt"
        current={tab}
        tabs={[
          ...(mayChange ? [{ id: "edit", label: "Prompt", href: `/prompts/view/?id=${url.id}` }] : []),
          { id: "versions", label: `Versions ${formatCount(prompt.version)}`, href: at("versions") },
          { id: "runs", label: "Runs", href: at("runs") },
          { id: "results", label: "Results", href: at("results") },
        ]}
      />
      {tab === "edit" && <EditTab key={prompt.prompt_id} prompt={prompt} />}
      {tab === "versions" && <VersionsTab prompt={prompt} />}
      {tab === "runs" && <RunsTab prompt={prompt} onRun={() => setRunning(true)} />}
      {tab === "results" && <ResultsTab prompt={prompt} />}
      {isRunning && <RunDialog prompt={prompt} onClose={() => setRunning(false)} />}
    </>
  );
}

function Head({ prompt, mayChange, onRun }: { prompt: Prompt; mayChange: boolean; onRun: () => void }) {
  return (
    <PageHead title={prompt.name} parent={PARENT} aside={<span className="text-text-3">Version {formatCount(prompt.version)}</span>}>
      {mayChange && (
        <>
          <Button variant="primary" onClick={onRun}>
            <Play aria-hidden size={14} /> Run
          </Button>
          <ButtonLink href={`/prompts/new/?from=${prompt.prompt_id}`}>
            <Copy aria-hidden size={14} /> <span className="max-md:sr-only">Copy</span>
          </ButtonLink>
          <Remove prompt={prompt} />
        </>
      )}
    </PageHead>
  );
}

function Remove({ prompt }: { prompt: Prompt }) {
  const router = useRouter();
  const client = useQueryClient();
  const [isAsking, setAsking] = useState(false);
  const remove = useMutation({
    mutationFn: () =>
      answered(
        api.DELETE("/v0/orgs/{organization_id}/prompts/{prompt_id}", {
          params: { path: { ...organizationPath(), prompt_id: prompt.prompt_id } },
        }),
      ),
    onSuccess: async () => {
      toast(`${prompt.name} deleted`);
      router.replace("/prompts/");
      await client.invalidateQueries({ queryKey: promptKeys.lists });
    },
    onError: (failure) => tellFailure("The prompt was not deleted", failure),
  });
  return (
    <>
      <Button isIcon className="text-failed" aria-label="Delete the prompt" title="Delete" onClick={() => setAsking(true)}>
        <Trash2 aria-hidden size={14} />
      </Button>
      <ConfirmDialog
        open={isAsking}
        onOpenChange={setAsking}
        title={`Delete ${prompt.name}?`}
        action="Delete the prompt"
        typed={prompt.name}
        onConfirm={() => remove.mutate()}
      >
        {isAsking && <Affected prompt={prompt} />}
      </ConfirmDialog>
    </>
  );
}

/** What goes with it, counted when it is asked for. */
function Affected({ prompt }: { prompt: Prompt }) {
  const { data: runs } = useQuery(runsQuery({ promptId: prompt.prompt_id }, 0, 1));
  const { data: unfinished } = useQuery(runsQuery({ promptId: prompt.prompt_id, statuses: ["queued", "running"] }, 0, 1));
  const { data: results } = useQuery(resultsQuery({ promptId: prompt.prompt_id, version: prompt.version, isVerified: null }, 0, 1));
  const { data: verified } = useQuery(resultsQuery({ promptId: prompt.prompt_id, version: prompt.version, isVerified: true }, 0, 1));
  return (
    <span>
      {plural(prompt.version, "version")}
      {runs && `, ${plural(runs.total_count, "run")}`}
      {results && ` and the results of every version are deleted too; the latest version has ${plural(results.total_count, "result")}`}
      {verified && `, ${formatCount(verified.total_count)} of them verified`}.
      {unfinished &&
        unfinished.total_count > 0 &&
        ` ${plural(unfinished.total_count, "unfinished run")} ${unfinished.total_count === 1 ? "is" : "are"} stopped.`}{" "}
      The documents stay. This cannot be undone.
    </span>
  );
}
