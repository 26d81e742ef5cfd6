"use client";

import { useState } from "react";

import { Button } from "@/components/ui/button";
import { Dialog } from "@/components/ui/dialog";
import { UNKNOWN } from "@/lib/format";

import type { Item } from "./queries";
import { accessWords } from "./words";

/** Who may read an item at its service, with the names behind the counts. */
export function ItemAccess({ item }: { item: Item }) {
  const [isOpen, setOpen] = useState(false);
  const { access } = item;
  if (access === null) {
    return (
      <span className="text-text-3" title="The service does not say">
        {UNKNOWN}
      </span>
    );
  }
  const words = accessWords(access);
  if (access.people.length + access.groups.length === 0) return <span className="text-text-2">{words}</span>;
  return (
    <>
      <Button
        variant="quiet"
        size="small"
        className="-ml-2 max-w-full"
        aria-label={`${words} may read ${item.name}`}
        onClick={() => setOpen(true)}
      >
        <span className="truncate">{words}</span>
      </Button>
      {isOpen && (
        <Dialog
          open
          onOpenChange={setOpen}
          title={`Who may read ${item.name}`}
          description={
            access.is_public
              ? "Everyone may read it, as the service says. It also names these."
              : "As the service says. Searches here do not use it."
          }
          footer={<Button onClick={() => setOpen(false)}>Done</Button>}
        >
          <div className="flex flex-col gap-4">
            <Names title="People" names={access.people} />
            <Names title="Groups" names={access.groups} />
          </div>
        </Dialog>
      )}
    </>
  );
}

function Names({ title, names }: { title: string; names: readonly string[] }) {
  if (names.length === 0) return null;
  return (
    <section>
      <h3 className="mb-1 font-medium">{title}</h3>
      <ul>
        {[...new Set(names)].map((name) => (
          <li key={name} className="break-words text-text-2">
            {name}
          </li>
        ))}
      </ul>
    </section>
  );
}
