"use client";

import { useQuery } from "@tanstack/react-query";
import { Command } from "cmdk";
import { FileText, LibraryBig, Plus, ScanSearch, Tag as TagIcon, Upload } from "lucide-react";
import { useRouter } from "next/navigation";
import { useDeferredValue, useState } from "react";

import { documentNamesQuery, knowledgeBaseListQuery, tagListQuery } from "@/api/queries";
import { DESTINATIONS } from "@/components/navigation";
import { BareDialog } from "@/components/ui/dialog";
import { usePermissions } from "@/state/permissions";
import { chooseFiles } from "@/state/uploads";
import { useActiveItem } from "@/state/use-active-item";

/** Ctrl K: pages, actions, and by name documents, tags and knowledge bases, as the server finds them. */
export function CommandPalette({ open, onOpenChange }: { open: boolean; onOpenChange: (open: boolean) => void }) {
  return (
    <BareDialog open={open} onOpenChange={onOpenChange} title="Search everything" className="inset-x-2 top-[10vh] mx-auto max-w-[620px]">
      <Palette close={() => onOpenChange(false)} />
    </BareDialog>
  );
}

const GROUP =
  "[&_[cmdk-group-heading]]:px-2 [&_[cmdk-group-heading]]:py-1 [&_[cmdk-group-heading]]:text-xs [&_[cmdk-group-heading]]:text-text-3";

function Palette({ close }: { close: () => void }) {
  const router = useRouter();
  const { may } = usePermissions();
  const [text, setText] = useState("");
  const wanted = useDeferredValue(text.trim());
  const documents = useQuery({ ...documentNamesQuery(wanted), enabled: wanted !== "" });
  const bases = useQuery(knowledgeBaseListQuery(wanted, 5));
  const tags = useQuery({ ...tagListQuery(wanted, 5), enabled: wanted !== "" });
  const isSearching = documents.isFetching || bases.isFetching || tags.isFetching;
  const go = (href: string) => {
    close();
    router.push(href);
  };
  const matches = (label: string) => label.toLowerCase().includes(wanted.toLowerCase());
  const known = [
    { label: "Upload files", needs: "upload_documents", icon: Upload, run: chooseFiles },
    { label: "New knowledge base", needs: "create_knowledge_base", icon: Plus, run: () => go("/kbs/new/") },
    { label: "New prompt", needs: "create_prompt", icon: Plus, run: () => go("/prompts/new/") },
    { label: "Add source", needs: "create_source", icon: Plus, run: () => go("/sources/new/") },
    { label: "New tag", needs: "create_tag", icon: Plus, run: () => go("/tags/?new=1") },
  ] as const;
  const actions = known.filter((action) => may(action.needs) && matches(action.label));
  const pages = DESTINATIONS.filter((destination) => matches(destination.label));
  const active = useActiveItem([
    ...(wanted === "" ? [] : ["search-passages", ...(documents.data?.documents.map((document) => document.document_id) ?? [])]),
    ...(bases.data?.knowledge_bases.map((base) => base.kb_id) ?? []),
    ...(wanted === "" ? [] : (tags.data?.tags.map((tag) => tag.tag_id) ?? [])),
    ...actions.map((action) => action.label),
    ...pages.map((destination) => destination.href),
  ]);
  return (
    <Command shouldFilter={false} label="Search everything" {...active}>
      <Command.Input
        autoFocus
        value={text}
        onValueChange={setText}
        placeholder="Documents, knowledge bases, tags, pages"
        className="h-12 w-full border-b border-line bg-transparent px-4 text-lg outline-none focus-visible:border-focus"
      />
      <Command.List className="max-h-[56vh] overflow-y-auto p-2">
        <Command.Empty className="px-2 py-6 text-center text-text-2">
          {isSearching ? "Searching…" : `No match for “${wanted}”.`}
        </Command.Empty>
        {wanted !== "" && (
          <Command.Group className={GROUP}>
            <Command.Item className="menu-item" value="search-passages" onSelect={() => go(`/search/?q=${encodeURIComponent(wanted)}`)}>
              <ScanSearch aria-hidden size={15} /> Find passages about “{wanted}”
            </Command.Item>
          </Command.Group>
        )}
        {documents.data && documents.data.documents.length > 0 && wanted !== "" && (
          <Command.Group heading="Documents" className={GROUP}>
            {documents.data.documents.map((document) => (
              <Command.Item
                key={document.document_id}
                value={document.document_id}
                className="menu-item"
                onSelect={() => go(`/documents/view/?id=${document.document_id}`)}
              >
                <FileText aria-hidden size={15} className="shrink-0" />
                <span className="truncate">{document.document_name}</span>
              </Command.Item>
            ))}
          </Command.Group>
        )}
        {bases.data && bases.data.knowledge_bases.length > 0 && (
          <Command.Group heading="Knowledge bases" className={GROUP}>
            {bases.data.knowledge_bases.map((base) => (
              <Command.Item key={base.kb_id} value={base.kb_id} className="menu-item" onSelect={() => go(`/kbs/view/?id=${base.kb_id}`)}>
                <LibraryBig aria-hidden size={15} className="shrink-0" />
                <span className="truncate">{base.name}</span>
              </Command.Item>
            ))}
          </Command.Group>
        )}
        {tags.data && tags.data.tags.length > 0 && wanted !== "" && (
          <Command.Group heading="Tags" className={GROUP}>
            {tags.data.tags.map((tag) => (
              <Command.Item key={tag.tag_id} value={tag.tag_id} className="menu-item" onSelect={() => go(`/documents/?tags=${tag.tag_id}`)}>
                <TagIcon aria-hidden size={15} className="shrink-0" />
                <span className="truncate">{tag.name}</span>
              </Command.Item>
            ))}
          </Command.Group>
        )}
        {actions.length > 0 && (
          <Command.Group heading="Actions" className={GROUP}>
            {actions.map((action) => (
              <Command.Item
                key={action.label}
                value={action.label}
                className="menu-item"
                onSelect={() => {
                  close();
                  action.run();
                }}
              >
                <action.icon aria-hidden size={15} /> {action.label}
              </Command.Item>
            ))}
          </Command.Group>
        )}
        {pages.length > 0 && (
          <Command.Group heading="Pages" className={GROUP}>
            {pages.map((destination) => (
              <Command.Item key={destination.href} value={destination.href} className="menu-item" onSelect={() => go(destination.href)}>
                <destination.icon aria-hidden size={15} />
                <span className="flex-1">{destination.label}</span>
                <span className="kbd">g {destination.key}</span>
              </Command.Item>
            ))}
          </Command.Group>
        )}
      </Command.List>
    </Command>
  );
}
