"use client";

import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import Link from "next/link";
import { useState } from "react";
import { toast } from "sonner";

import { answered, api, organizationPath } from "@/api/client";
import { type KnowledgeBase, tagIndexQuery } from "@/api/queries";
import { kbKeys } from "@/api/keys";
import { formError } from "@/components/ui/field";
import { May } from "@/components/may";
import { Banner } from "@/components/state";
import { Button } from "@/components/ui/button";
import { formatCount } from "@/lib/format";
import { usePermissions } from "@/state/permissions";

import { BASE_FIELDS, BaseFields, bodyOf, fieldsOf } from "./base-fields";

export function BaseSettings({ base }: { base: KnowledgeBase }) {
  const client = useQueryClient();
  const { data: tagIndex } = useQuery(tagIndexQuery());
  const { isKnown, may, whoMay } = usePermissions();
  const mayChange = may("update_knowledge_base");
  const kept = fieldsOf(base);
  const [values, setValues] = useState(kept);
  const isChanged =
    values.name !== kept.name ||
    values.description !== kept.description ||
    values.neighbours !== kept.neighbours ||
    [...values.tagIds].sort().join() !== [...kept.tagIds].sort().join();
  const leaving = kept.tagIds.filter((id) => !values.tagIds.includes(id));
  const save = useMutation({
    mutationFn: () =>
      answered(
        api.PUT("/v0/orgs/{organization_id}/knowledge-bases/{kb_id}", {
          params: { path: { ...organizationPath(), kb_id: base.kb_id } },
          body: bodyOf(values),
        }),
      ),
    onSuccess: async () => {
      toast("Saved");
      await client.invalidateQueries({ queryKey: kbKeys.all });
    },
  });
  const general = formError(save.error, BASE_FIELDS);
  return (
    <div className="min-h-0 flex-1 overflow-auto">
      <form
        className="flex max-w-[640px] flex-col gap-5 p-4"
        onSubmit={(event) => {
          event.preventDefault();
          save.mutate();
        }}
      >
        {isKnown && !mayChange && (
          <Banner tone="working">You may look at these settings. {whoMay("update_knowledge_base")} change them.</Banner>
        )}
        {general && <Banner tone="failed">{general} Your changes are still here.</Banner>}
        <fieldset disabled={!mayChange} className="contents">
          <BaseFields
            values={values}
            onChange={setValues}
            error={save.error}
            tagNote={
              leaving.length > 0 && (
                <span className="text-warn">
                  Documents whose last shared tag is {leaving.map((id) => tagIndex?.get(id)?.name ?? "unknown").join(" or ")} leave as soon
                  as you save.
                </span>
              )
            }
          />
        </fieldset>
        {mayChange && (
          <div className="flex items-center gap-2">
            <Button type="submit" variant="primary" disabled={!isChanged || save.isPending}>
              {save.isPending ? "Saving…" : "Save"}
            </Button>
            {isChanged && <span className="text-text-2">Not saved yet</span>}
          </div>
        )}
      </form>
      <section className="max-w-[640px] border-t border-line p-4">
        <h2 className="text-lg font-semibold">Fixed after creation</h2>
        <May to="create_knowledge_base">
          <p className="mb-3 text-text-2">
            <Link href={`/kbs/new/?from=${base.kb_id}`} className="text-link underline">
              Clone it
            </Link>{" "}
            to change these.
          </p>
        </May>
        <dl className="grid grid-cols-[160px_minmax(0,1fr)] gap-x-4 gap-y-1.5">
          <dt className="text-text-2">Embedding model</dt>
          <dd className="break-words">{base.embedding_model}</dd>
          <dt className="text-text-2">Dimensions</dt>
          <dd>{formatCount(base.embedding_dimensions)}</dd>
          <dt className="text-text-2">Chunker</dt>
          <dd>{base.chunker_type}</dd>
          <dt className="text-text-2">Chunk size, overlap</dt>
          <dd>
            {formatCount(base.chunk_size)}, {formatCount(base.chunk_overlap)} tokens
          </dd>
          <dt className="text-text-2">Id</dt>
          <dd className="font-mono text-xs break-all">{base.kb_id}</dd>
        </dl>
      </section>
    </div>
  );
}
