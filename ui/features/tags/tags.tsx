"use client";

import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { Plus } from "lucide-react";
import dynamic from "next/dynamic";
import Link from "next/link";
import { parseAsString, useQueryState } from "nuqs";
import { useState } from "react";
import { toast } from "sonner";

import { answered, api, organizationPath } from "@/api/client";
import type { Tag } from "@/api/queries";
import { promptKeys, tagKeys } from "@/api/keys";
import { ConfirmDialog } from "@/components/ui/dialog";
import { SkeletonRows, tellFailure } from "@/components/feedback";
import { NameList, useNameList } from "@/components/name-list";
import { deletionWord, PromptUsesNote, usePromptUses } from "@/components/prompt-uses";
import { Banner } from "@/components/state";
import { Time } from "@/components/time";
import { Button } from "@/components/ui/button";
import { DataTable } from "@/components/ui/data-table";
import { formatCount } from "@/lib/format";
import { usePermissions } from "@/state/permissions";

import { tagPageQuery, TAGS_A_PAGE, tagUseQuery } from "./queries";

const TagDialog = dynamic(() => import("./tag-dialog").then((module) => module.TagDialog), { ssr: false });

export function TagsList() {
  const list = useNameList(TAGS_A_PAGE);
  const [opened, setOpened] = useQueryState("new", parseAsString);
  const client = useQueryClient();
  const answer = useQuery(tagPageQuery(list.search, list.skip));
  const { data } = answer;
  const [edited, setEdited] = useState<Tag | null>(null);
  const [deleted, setDeleted] = useState<Tag | null>(null);
  const uses = usePromptUses(deleted && { tagId: deleted.tag_id });
  const { isKnown, may, whoMay } = usePermissions();
  const isNew = opened !== null && may("create_tag");
  const remove = useMutation({
    mutationFn: ({ tag, onUse }: { tag: Tag; onUse: "detach" | "refuse" }) =>
      answered(
        api.DELETE("/v0/orgs/{organization_id}/tags/{tag_id}", {
          params: { path: { ...organizationPath(), tag_id: tag.tag_id }, query: { on_use: onUse } },
        }),
      ),
    onSuccess: async (_, { tag }) => {
      toast(`Tag ${tag.name} deleted`);
      await Promise.all([client.invalidateQueries({ queryKey: tagKeys.all }), client.invalidateQueries({ queryKey: promptKeys.all })]);
    },
    onError: (failure) => tellFailure("The tag was not deleted", failure),
  });
  const create = may("create_tag") && (
    <Button variant="primary" onClick={() => void setOpened("1")}>
      <Plus aria-hidden size={14} /> New tag
    </Button>
  );
  return (
    <>
      <NameList
        title="Tags"
        called="No tag is called"
        list={list}
        answer={answer}
        rows={data?.tags.length ?? 0}
        create={create}
        empty={{ title: "No tags yet", text: "Tags decide which knowledge bases a document belongs to." }}
        banner={opened !== null && isKnown && !may("create_tag") && <Banner tone="working">{whoMay("create_tag")} make tags.</Banner>}
      >
        <DataTable
          caption="Tags"
          isCards
          head={
            <>
              <th data-column="name" className="pl-4! md:w-[36%]">
                Name
              </th>
              <th className="max-md:hidden">Description</th>
              <th className="number w-[110px] max-md:w-[84px]">Documents</th>
              <th className="w-[130px] @max-[960px]:hidden">Changed</th>
              <th className="w-[150px] max-md:w-[132px]">
                <span className="sr-only">Actions</span>
              </th>
            </>
          }
        >
          {data === undefined ? (
            <SkeletonRows rows={8} columns={["50%", "70%", "40%", "60%", "60%"]} />
          ) : (
            data.tags.map((tag) => (
              <tr key={tag.tag_id}>
                <td className="pl-4!">
                  <span className="flex items-center gap-2">
                    <span aria-hidden className="size-2.5 shrink-0 rounded-full" style={{ background: tag.color }} />
                    <span className="truncate font-medium" title={tag.name}>
                      {tag.name}
                    </span>
                  </span>
                </td>
                <td className="text-text-2 max-md:hidden" title={tag.description}>
                  {tag.description}
                </td>
                <td className="number" data-label="Documents">
                  <TagUse tag={tag} />
                </td>
                <td className="text-text-2 @max-[960px]:hidden">
                  <Time at={tag.updated_at} />
                </td>
                <td className="text-right">
                  {may("update_tag") && (
                    <Button variant="quiet" size="small" aria-label={`Edit ${tag.name}`} onClick={() => setEdited(tag)}>
                      Edit
                    </Button>
                  )}
                  {may("delete_tag") && (
                    <Button
                      variant="quiet"
                      size="small"
                      className="text-failed"
                      aria-label={`Delete ${tag.name}`}
                      onClick={() => setDeleted(tag)}
                    >
                      Delete
                    </Button>
                  )}
                </td>
              </tr>
            ))
          )}
        </DataTable>
      </NameList>
      <TagDialog
        key={edited?.tag_id ?? (isNew ? "new" : "none")}
        tag={edited}
        open={edited !== null || isNew}
        onClose={() => {
          setEdited(null);
          if (isNew) void setOpened(null);
        }}
      />
      <ConfirmDialog
        open={deleted !== null}
        onOpenChange={(isOpen) => !isOpen && setDeleted(null)}
        title={`Delete the tag ${deleted?.name ?? ""}?`}
        action={deletionWord(uses, "Delete the tag")}
        onConfirm={() => deleted && remove.mutate({ tag: deleted, onUse: uses && uses.count > 0 ? "detach" : "refuse" })}
      >
        Only unused tags can be deleted. If documents or knowledge bases use this tag, they are listed.
        <PromptUsesNote uses={uses} />
      </ConfirmDialog>
    </>
  );
}

function TagUse({ tag }: { tag: Tag }) {
  const { data } = useQuery(tagUseQuery(tag.tag_id));
  if (data === undefined) return <span className="skeleton h-3 w-6" aria-hidden />;
  if (data === 0) return <span className="text-text-3">0</span>;
  return (
    <Link className="text-link hover:underline" href={`/documents/?tags=${tag.tag_id}`}>
      {formatCount(data)}
    </Link>
  );
}
