"use client";

import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useRouter } from "next/navigation";
import { useState } from "react";
import { toast } from "sonner";

import { answered, api, idempotencyKey, organizationPath, type Schemas } from "@/api/client";
import { Button } from "@/components/ui/button";
import { Dialog } from "@/components/ui/dialog";
import { Field, Textarea } from "@/components/ui/field";
import { Select } from "@/components/ui/select";
import { formatCount, plural } from "@/lib/format";

import { DocumentChooser } from "./document-chooser";
import { MOST_COMPARED, type Prompt, replacedQuery, runKeys } from "./queries";

/** What the API takes in one call. */
const MOST_DOCUMENTS = 1_000;

/** What to run a prompt on: documents that are chosen here, or a text that is none. */
export function RunDialog({ prompt, onClose }: { prompt: Prompt; onClose: () => void }) {
  const router = useRouter();
  const client = useQueryClient();
  const [on, setOn] = useState<"documents" | "text">("documents");
  const [chosen, setChosen] = useState<ReadonlyMap<string, string>>(new Map());
  const [text, setText] = useState("");
  const [version, setVersion] = useState(prompt.version);
  const run = useMutation({
    mutationFn: (body: Schemas["PromptRunCreate"]) =>
      answered(
        api.POST("/v0/orgs/{organization_id}/prompts/{prompt_id}/runs", {
          params: { path: { ...organizationPath(), prompt_id: prompt.prompt_id } },
          body,
          headers: idempotencyKey(),
        }),
      ),
    onSuccess: async ({ runs }) => {
      toast(runs.length === 1 ? "Run started" : `${formatCount(runs.length)} runs started`);
      await client.invalidateQueries({ queryKey: runKeys.all });
      onClose();
      const [first] = runs;
      router.push(
        runs.length === 1 && first && first.document_id === null
          ? `/prompts/run/?id=${first.run_id}`
          : `/prompts/view/?id=${prompt.prompt_id}&tab=runs`,
      );
    },
  });
  const isReady = on === "text" ? text.trim() !== "" : chosen.size > 0 && chosen.size <= MOST_DOCUMENTS;
  const start = () => run.mutate({ version, ...(on === "text" ? { text } : { document_ids: [...chosen.keys()] }) });
  return (
    <Dialog
      open
      wide
      onOpenChange={(isOpen) => !isOpen && onClose()}
      title={`Run ${prompt.name}`}
      footer={
        <>
          <Button onClick={onClose}>Cancel</Button>
          <Button variant="primary" disabled={!isReady || run.isPending} onClick={start}>
            {run.isPending ? "Starting…" : on === "text" ? "Run on the text" : `Run on ${plural(chosen.size, "document")}`}
          </Button>
        </>
      }
    >
      <div className="flex flex-col gap-3">
        <div className="flex flex-wrap items-center gap-x-5 gap-y-2">
          <label className="flex min-h-6 items-center gap-2">
            <input type="radio" name="run-on" checked={on === "documents"} onChange={() => setOn("documents")} /> On documents
          </label>
          <label className="flex min-h-6 items-center gap-2">
            <input type="radio" name="run-on" checked={on === "text"} onChange={() => setOn("text")} /> On a text
          </label>
          <span className="flex-1" />
          <label className="flex items-center gap-2">
            <span className="text-text-2">Version</span>
            <Select className="w-[84px]" value={version} onChange={(event) => setVersion(Number(event.target.value))}>
              {Array.from({ length: prompt.version }, (_, back) => prompt.version - back).map((number) => (
                <option key={number} value={number}>
                  {number}
                </option>
              ))}
            </Select>
          </label>
        </div>
        {on === "text" ? (
          <Field label="Text">
            <Textarea rows={10} maxLength={1_000_000} value={text} onChange={(event) => setText(event.target.value)} />
            <span className="text-text-3">Test run. The answer is saved with the run, not as a result.</span>
          </Field>
        ) : (
          <>
            <DocumentChooser chosen={chosen} onChange={setChosen} />
            {chosen.size > MOST_DOCUMENTS && <span className="text-failed">Choose at most {formatCount(MOST_DOCUMENTS)} documents.</span>}
            <Replaced promptId={prompt.prompt_id} version={version} chosen={chosen} />
          </>
        )}
        {run.error && (
          <span role="alert" className="text-failed">
            {run.error.message}
          </span>
        )}
        <span className="text-text-3">Runs cost model tokens, and SPUs for searches.</span>
      </div>
    </Dialog>
  );
}

/** Of the chosen documents, those that have an answer already, and what becomes of it. */
function Replaced({ promptId, version, chosen }: { promptId: string; version: number; chosen: ReadonlyMap<string, string> }) {
  const { data } = useQuery(replacedQuery(promptId, version));
  const results = [...chosen.keys()].flatMap((id) => data?.get(id) ?? []);
  if (results.length === 0) return null;
  const kept = results.filter((result) => result.is_verified || result.is_edited);
  const verified = results.filter((result) => result.is_verified).length;
  return (
    <p role="status" className={kept.length > 0 ? "text-warn" : "text-text-2"}>
      {plural(results.length, "document already has", "documents already have")} an answer from version {version}
      {verified > 0 && `, ${formatCount(verified)} of them verified`}. A successful run replaces it
      {kept.length > 0 && ". Edited and verified answers are kept under earlier answers; the new answer is not verified"}.
      {data && data.size >= MOST_COMPARED && ` Only the first ${formatCount(MOST_COMPARED)} results were checked.`}
    </p>
  );
}
