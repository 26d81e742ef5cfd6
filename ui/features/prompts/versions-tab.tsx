"use client";

import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { parseAsInteger, useQueryStates } from "nuqs";
import { useState } from "react";
import { toast } from "sonner";

import { answered, api, organizationPath } from "@/api/client";
import { knowledgeBaseQuery, tagIndexQuery } from "@/api/queries";
import { promptKeys } from "@/api/keys";
import { ConfirmDialog } from "@/components/ui/dialog";
import { ErrorState, SkeletonBlock, tellFailure } from "@/components/feedback";
import { Time } from "@/components/time";
import { Button } from "@/components/ui/button";
import { Select } from "@/components/ui/select";
import { plural } from "@/lib/format";
import { useMay } from "@/state/permissions";

import { changedSettings, restoringBody, schemaText, type Setting } from "./draft";
import { type DiffLine, diffLines, partsOf } from "./line-diff";
import { type Prompt, type PromptVersion, versionsQuery } from "./queries";

/** Any two versions beside each other, line by line; an old one can be made the latest again. */
export function VersionsTab({ prompt }: { prompt: Prompt }) {
  const { data: versions, error, refetch } = useQuery(versionsQuery(prompt.prompt_id));
  const [url, setUrl] = useQueryStates({ v: parseAsInteger, vs: parseAsInteger }, { history: "push" });
  const mayChange = useMay("update_prompt");
  if (error && !versions) return <ErrorState error={error} retry={() => void refetch()} />;
  if (!versions) return <SkeletonBlock lines={8} />;
  const chosen = versions.find(({ version }) => version === url.v) ?? versions[0];
  if (!chosen) return null;
  const other =
    versions.find(({ version }) => version === url.vs) ?? versions.find(({ version }) => version === chosen.version - 1) ?? null;
  return (
    <div className="min-h-0 flex-1 overflow-auto">
      <div className="flex flex-col gap-4 p-4">
        <div className="flex flex-wrap items-end gap-3">
          <VersionSelect
            label="Version"
            versions={versions}
            value={chosen.version}
            onChange={(v) => void setUrl({ v, vs: url.vs === v ? null : url.vs })}
          />
          {versions.length > 1 && (
            <VersionSelect
              label="Compared with"
              versions={versions.filter(({ version }) => version !== chosen.version)}
              value={other?.version ?? null}
              onChange={(vs) => void setUrl({ v: chosen.version, vs })}
            />
          )}
          {mayChange && chosen.version !== prompt.version && <Restore prompt={prompt} version={chosen} />}
        </div>
        <p className="text-text-2">
          Version {chosen.version} was saved <Time at={chosen.created_at} />
          {chosen.version === prompt.version ? "; it is the latest." : "."} Versions keep their runs and results.
        </p>
        {other === null ? (
          <Whole version={chosen} />
        ) : (
          <Comparison
            key={`${chosen.version} ${other.version}`}
            before={other.version < chosen.version ? other : chosen}
            after={other.version < chosen.version ? chosen : other}
          />
        )}
      </div>
    </div>
  );
}

function VersionSelect({
  label,
  versions,
  value,
  onChange,
}: {
  label: string;
  versions: readonly PromptVersion[];
  value: number | null;
  onChange: (version: number) => void;
}) {
  return (
    <label className="flex w-[150px] flex-col gap-1">
      <span className="text-text-2">{label}</span>
      <Select value={value ?? ""} onChange={(event) => onChange(Number(event.target.value))}>
        {value === null && <option value="">–</option>}
        {versions.map(({ version }) => (
          <option key={version} value={version}>
            Version {version}
          </option>
        ))}
      </Select>
    </label>
  );
}

function Whole({ version }: { version: PromptVersion }) {
  const schema = schemaText(version);
  return (
    <>
      <Part title="Text">
        <pre className="rounded-lg border border-line bg-surface p-3 font-mono text-xs break-words whitespace-pre-wrap">{version.text}</pre>
      </Part>
      <Part title="Answer">
        {schema === "" ? (
          <p className="text-text-2">A text.</p>
        ) : (
          <pre className="rounded-lg border border-line bg-surface p-3 font-mono text-xs break-words whitespace-pre-wrap">{schema}</pre>
        )}
      </Part>
      <p className="text-text-2">There is no other version to compare with yet. Each save adds one.</p>
    </>
  );
}

function Part({ title, children }: { title: string; children: React.ReactNode }) {
  return (
    <section aria-label={title} className="flex flex-col gap-2">
      <h2 className="font-semibold">{title}</h2>
      {children}
    </section>
  );
}

function Comparison({ before, after }: { before: PromptVersion; after: PromptVersion }) {
  const { data: tagIndex } = useQuery(tagIndexQuery());
  const oldBase = useQuery({ ...knowledgeBaseQuery(before.kb_id ?? ""), enabled: before.kb_id !== null, retry: false });
  const newBase = useQuery({ ...knowledgeBaseQuery(after.kb_id ?? ""), enabled: after.kb_id !== null, retry: false });
  const tagName = (id: string) => tagIndex?.get(id)?.name ?? `a deleted tag (${id})`;
  const kbName = (id: string) => [oldBase.data, newBase.data].find((base) => base?.kb_id === id)?.name ?? `a deleted one (${id})`;
  const settings = changedSettings(before, after, tagName, kbName);
  const isSameText = before.text === after.text;
  const isSameSchema = schemaText(before) === schemaText(after);
  return (
    <>
      <p className="text-text-2">
        From version {before.version} (−) to version {after.version} (+).
        {isSameText && isSameSchema && settings.length === 0 && " They are the same."}
      </p>
      {!isSameText && (
        <Part title="Text">
          <Diff label="Changes of the text" before={before.text} after={after.text} />
        </Part>
      )}
      {!isSameSchema && (
        <Part title="Answer">
          <Diff label="Changes of the answer's schema" before={schemaText(before) || "A text"} after={schemaText(after) || "A text"} />
        </Part>
      )}
      {settings.length > 0 && <Settings settings={settings} />}
    </>
  );
}

function Settings({ settings }: { settings: readonly Setting[] }) {
  return (
    <Part title="Settings">
      <dl className="flex flex-col divide-y divide-line rounded-lg border border-line bg-surface">
        {settings.map(({ label, before, after }) => (
          <div key={label} className="grid gap-x-4 gap-y-1 px-3 py-2 sm:grid-cols-[180px_minmax(0,1fr)]">
            <dt className="text-text-2">{label}</dt>
            <dd className="break-words">
              <del className="rounded bg-failed-bg px-1 text-failed">{before}</del> <span aria-hidden>→</span>{" "}
              <ins className="rounded bg-ready-bg px-1 text-ready no-underline">{after}</ins>
            </dd>
          </div>
        ))}
      </dl>
    </Part>
  );
}

const LINE: Record<DiffLine["kind"], { sign: string; word: string; style: string }> = {
  same: { sign: " ", word: "", style: "text-text-2" },
  added: { sign: "+", word: "Added: ", style: "bg-ready-bg text-ready" },
  removed: { sign: "−", word: "Removed: ", style: "bg-failed-bg text-failed" },
};

function Diff({ label, before, after }: { label: string; before: string; after: string }) {
  const [isWhole, setWhole] = useState(false);
  const lines = diffLines(before, after);
  const { parts, hiddenAtEnd } = isWhole ? { parts: [{ lines, hidden: 0 }], hiddenAtEnd: 0 } : partsOf(lines);
  const hidden = parts.reduce((sum, part) => sum + part.hidden, hiddenAtEnd);
  return (
    <div role="group" aria-label={label} className="overflow-hidden rounded-lg border border-line bg-surface font-mono text-xs">
      {parts.map((part, place) => (
        <div key={place}>
          {part.hidden > 0 && <Hidden count={part.hidden} />}
          {part.lines.map((line, number) => {
            const { sign, word, style } = LINE[line.kind];
            return (
              <div key={number} className={`flex gap-2 px-3 ${style}`}>
                <span aria-hidden className="w-3 shrink-0 select-none">
                  {sign}
                </span>
                <span className="min-w-0 flex-1 break-words whitespace-pre-wrap">
                  {word && <span className="sr-only">{word}</span>}
                  {line.text || " "}
                </span>
              </div>
            );
          })}
        </div>
      ))}
      {hiddenAtEnd > 0 && <Hidden count={hiddenAtEnd} />}
      {hidden > 0 && (
        <Button variant="quiet" size="small" className="m-1 font-sans" onClick={() => setWhole(true)}>
          Show every line
        </Button>
      )}
    </div>
  );
}

function Hidden({ count }: { count: number }) {
  return <div className="bg-sunken px-3 py-0.5 font-sans text-text-3">{plural(count, "line")} without a change</div>;
}

function Restore({ prompt, version }: { prompt: Prompt; version: PromptVersion }) {
  const client = useQueryClient();
  const [, setUrl] = useQueryStates({ v: parseAsInteger, vs: parseAsInteger });
  const [isAsking, setAsking] = useState(false);
  const restore = useMutation({
    mutationFn: () =>
      answered(
        api.PUT("/v0/orgs/{organization_id}/prompts/{prompt_id}", {
          params: { path: { ...organizationPath(), prompt_id: prompt.prompt_id } },
          // It asks for no runs: those on documents that are there already are started by hand.
          body: { ...restoringBody(version), runs_on_existing: false },
        }),
      ),
    onSuccess: async (saved) => {
      toast(
        saved.version === prompt.version
          ? `Version ${prompt.version} is already the same`
          : `Version ${version.version} restored as version ${saved.version}`,
      );
      client.setQueryData(promptKeys.one(prompt.prompt_id), saved);
      await client.invalidateQueries({ queryKey: promptKeys.all });
      void setUrl({ v: null, vs: null });
    },
    onError: (failure) => tellFailure("The version was not restored", failure),
  });
  return (
    <>
      <Button disabled={restore.isPending} onClick={() => setAsking(true)}>
        Restore version {version.version}
      </Button>
      <ConfirmDialog
        open={isAsking}
        onOpenChange={setAsking}
        title={`Restore version ${version.version}?`}
        action={`Restore as version ${prompt.version + 1}`}
        onConfirm={() => restore.mutate()}
      >
        Its text, answer and settings are saved as version {prompt.version + 1}. Version {prompt.version} is kept. Existing documents are
        not run again{version.tag_ids.length > 0 ? "; new documents with its tags use this version" : ""}.
      </ConfirmDialog>
    </>
  );
}
