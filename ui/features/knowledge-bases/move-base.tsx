"use client";

import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { toast } from "sonner";

import { answered, api, organizationPath } from "@/api/client";
import { kbKeys } from "@/api/keys";
import type { KnowledgeBase } from "@/api/queries";
import { Banner } from "@/components/state";
import { Button } from "@/components/ui/button";
import { Dialog } from "@/components/ui/dialog";
import { Field, Input } from "@/components/ui/field";
import { plural } from "@/lib/format";
import { useDebounced } from "@/state/use-debounced";

import { ForecastPanel, inWords } from "./forecast-panel";
import { forecastQuery } from "./queries";
import { metadataKeys } from "./searched-metadata";

const SETTLE_MILLISECONDS = 400;

/** Indexes a knowledge base again with context and the chosen metadata, after it told the cost. */
export default function MoveBase({ base, onClose }: { base: KnowledgeBase; onClose: () => void }) {
  const client = useQueryClient();
  const [text, setText] = useState(base.searched_metadata.join(", "));
  const wanted = JSON.stringify(metadataKeys(text));
  const settled = useDebounced(wanted, SETTLE_MILLISECONDS);
  const { tag_ids, chunker_type, chunk_size, chunk_overlap, section_level, index_types, embedding_model } = base;
  const body = {
    ...{ tag_ids, chunker_type, chunk_size, chunk_overlap, section_level, index_types, embedding_model },
    context: true,
    searched_metadata: JSON.parse(settled) as string[],
  };
  const forecast = useQuery(forecastQuery(body)).data;
  const isSame = base.context && wanted === JSON.stringify(base.searched_metadata);
  const move = useMutation({
    mutationFn: () =>
      answered(
        api.POST("/v0/orgs/{organization_id}/knowledge-bases/{kb_id}/move", {
          params: { path: { ...organizationPath(), kb_id: base.kb_id } },
          body: { searched_metadata: metadataKeys(text) },
        }),
      ),
    onSuccess: async (moved) => {
      toast(`Indexing ${plural(moved.document_count, "document")} again. Searches go on meanwhile.`);
      await client.invalidateQueries({ queryKey: kbKeys.all });
      onClose();
    },
  });
  return (
    <Dialog
      open
      onOpenChange={(isOpen) => !isOpen && onClose()}
      title="Index again with context"
      description="Each chunk is then also found by its document's name, its headings and the metadata that you choose. Searches find the former chunks of a document until its new ones are ready."
      footer={
        <>
          <Button onClick={onClose}>Cancel</Button>
          <Button variant="primary" disabled={isSame || move.isPending || wanted !== settled} onClick={() => move.mutate()}>
            {move.isPending ? "Starting…" : forecast ? `Index again for ${inWords(forecast.spus)} SPUs` : "Index again"}
          </Button>
        </>
      }
    >
      <div className="flex flex-col gap-4">
        <Field label="Searched metadata" hint="Keys, separated by commas: customer, contract_number. None by default.">
          <Input value={text} maxLength={2000} onChange={(event) => setText(event.target.value)} />
        </Field>
        <Banner tone="warning">
          Until all documents are indexed again, results compare former chunks with new ones, so their order may change from search to
          search. To switch at once, clone the knowledge base and delete this one when the clone is ready.
        </Banner>
        {move.error && <Banner tone="failed">{move.error.message}</Banner>}
        <ForecastPanel body={body} isSettling={wanted !== settled} />
      </div>
    </Dialog>
  );
}
