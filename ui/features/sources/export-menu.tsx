"use client";

import { useMutation } from "@tanstack/react-query";
import { Download } from "lucide-react";
import { DropdownMenu } from "radix-ui";

import { tellFailure } from "@/components/feedback";
import { Button } from "@/components/ui/button";
import { saveFile } from "@/lib/save-file";

import { type ExportFormat, exportSource, type Source } from "./queries";

const FORMATS: readonly { format: ExportFormat; label: string; note: string }[] = [
  { format: "csv", label: "CSV", note: "for spreadsheets" },
  { format: "json", label: "JSON", note: "one list" },
  { format: "ndjson", label: "NDJSON", note: "a document a line" },
];

/** Downloads the text, address and metadata of a source's documents. */
export function ExportMenu({ source }: { source: Source }) {
  const download = useMutation({
    mutationFn: (format: ExportFormat) => exportSource(source.source_id, format),
    onSuccess: (blob, format) => saveFile(blob, `${fileNameOf(source.name)}.${format}`),
    onError: (error) => tellFailure("The documents were not exported", error),
  });
  return (
    <DropdownMenu.Root>
      <DropdownMenu.Trigger asChild>
        <Button disabled={download.isPending} title="Download text, address and metadata of the documents">
          <Download aria-hidden size={14} /> <span className="max-md:sr-only">Export</span>
        </Button>
      </DropdownMenu.Trigger>
      <DropdownMenu.Portal>
        <DropdownMenu.Content className="layer appear z-50 min-w-[200px] p-1" sideOffset={6} align="end" collisionPadding={8}>
          {FORMATS.map(({ format, label, note }) => (
            <DropdownMenu.Item key={format} className="menu-item" onSelect={() => download.mutate(format)}>
              <span className="flex-1">{label}</span>
              <span className="text-text-3">{note}</span>
            </DropdownMenu.Item>
          ))}
        </DropdownMenu.Content>
      </DropdownMenu.Portal>
    </DropdownMenu.Root>
  );
}

/** Systems refuse these characters in names of files. */
export function fileNameOf(name: string): string {
  return name.replaceAll(/[\\/:*?"<>|\p{Cc}]+/gu, "-").slice(0, 120);
}
