"use client";

import { useQuery } from "@tanstack/react-query";
import { Plus } from "lucide-react";
import Link from "next/link";

import { type Tag, tagIndexQuery } from "@/api/queries";
import { SkeletonRows } from "@/components/feedback";
import { NameList, useNameList } from "@/components/name-list";
import { State } from "@/components/state";
import { TagChips } from "@/components/tag-chip";
import { Time } from "@/components/time";
import { ButtonLink } from "@/components/ui/button";
import { DataTable } from "@/components/ui/data-table";
import { useMay } from "@/state/permissions";

import { isLive, ROWS, type Source, sourceKindsQuery, sourceListQuery } from "./queries";
import { FailedSignIn } from "./sign-in-notices";
import { countWords, progressWords, runState, scheduleWords } from "./words";

export function Sources() {
  const list = useNameList(ROWS);
  const answer = useQuery(sourceListQuery(list.search, list.skip, list.rowsPerPage));
  const { data } = answer;
  const { data: tagIndex } = useQuery(tagIndexQuery());
  const { data: kinds } = useQuery(sourceKindsQuery());
  const titles = new Map(kinds?.kinds.map((kind) => [kind.kind, kind.title]));
  const create = useMay("create_source") && (
    <ButtonLink href="/sources/new/" variant="primary">
      <Plus aria-hidden size={14} /> Add source
    </ButtonLink>
  );
  return (
    <NameList
      title="Sources"
      called="No source is called"
      list={list}
      answer={answer}
      rows={data?.sources.length ?? 0}
      create={create}
      banner={<FailedSignIn />}
      empty={{
        title: "No sources yet",
        text: "A source is a place elsewhere, such as a folder. Its items become documents here and stay current: edited items are updated, vanished items are removed.",
      }}
    >
      <DataTable
        caption="Sources"
        head={
          <>
            <th data-column="name" className="pl-4!">
              Name
            </th>
            <th className="w-[110px] @max-[760px]:hidden">Kind</th>
            <th className="w-[18%] @max-[980px]:hidden">Tags</th>
            <th className="w-[220px] max-md:hidden">Last run</th>
            <th className="w-[110px] @max-[680px]:hidden">Started</th>
            <th className="w-[150px] @max-[880px]:hidden">Schedule</th>
            <th className="w-[110px] @max-[1090px]:hidden">Next run</th>
          </>
        }
      >
        {data === undefined ? (
          <SkeletonRows rows={6} columns={["50%", "60%", "50%", "60%", "60%", "60%", "60%"]} />
        ) : (
          data.sources.map((source) => (
            <SourceRow key={source.source_id} source={source} kind={titles.get(source.kind) ?? source.kind} tagIndex={tagIndex} />
          ))
        )}
      </DataTable>
    </NameList>
  );
}

function SourceRow({ source, kind, tagIndex }: { source: Source; kind: string; tagIndex: ReadonlyMap<string, Tag> | undefined }) {
  const run = source.last_run;
  // A run under way, or a dry run, does not hide why the source needs a person.
  const problem = run?.error?.detail ?? source.problem?.detail;
  return (
    <tr data-item={source.source_id}>
      <td className="pl-4!">
        <Link href={`/sources/view/?id=${source.source_id}`} className="block truncate font-medium hover:underline" title={source.name}>
          {source.name}
        </Link>
        <span className="md:hidden">
          <LastRun source={source} />
        </span>
      </td>
      <td className="text-text-2 @max-[760px]:hidden">{kind}</td>
      <td className="@max-[980px]:hidden">
        <TagChips tagIds={source.tag_ids} index={tagIndex} most={2} />
      </td>
      <td className="max-md:hidden">
        <LastRun source={source} />
        {run && (
          <span className="block truncate text-xs text-text-2" title={problem ?? countWords(run)}>
            {problem ?? (isLive(run) ? progressWords(run) : countWords(run))}
          </span>
        )}
      </td>
      <td className="text-text-2 @max-[680px]:hidden">{run ? <Time at={run.started_at ?? run.created_at} /> : "–"}</td>
      <td className="text-text-2 @max-[880px]:hidden">{scheduleWords(source.interval_seconds)}</td>
      <td className="text-text-2 @max-[1090px]:hidden">
        <Time at={source.next_run_at} isPlanned />
      </td>
    </tr>
  );
}

function LastRun({ source }: { source: Source }) {
  if (!source.last_run) return <State tone="absent">Not run yet</State>;
  const { tone, label } = runState(source.last_run);
  return (
    <Link
      href={`/sources/run/?source=${source.source_id}&id=${source.last_run.source_run_id}`}
      className="inline-flex max-w-full hover:underline"
    >
      <State tone={tone}>{source.last_run.is_dry_run ? `${label} (dry run)` : label}</State>
    </Link>
  );
}
