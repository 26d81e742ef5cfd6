"use client";

import { useState } from "react";

import { Dialog } from "@/components/ui/dialog";
import { activeShortcuts, areSingleKeysOn, setSingleKeys } from "@/state/shortcuts";

const GROUPS = ["Go to", "Everywhere", "List", "Document", "Search"] as const;

export function ShortcutsDialog({ open, onOpenChange }: { open: boolean; onOpenChange: (open: boolean) => void }) {
  return (
    <Dialog open={open} onOpenChange={onOpenChange} title="Keyboard shortcuts" wide>
      <ShortcutList />
    </Dialog>
  );
}

function ShortcutList() {
  const [isOn, setOn] = useState(areSingleKeysOn);
  const shortcuts = activeShortcuts();
  return (
    <>
      <div className="columns-1 gap-8 sm:columns-2">
        {GROUPS.map((group) => {
          const inGroup = shortcuts.filter((shortcut) => shortcut.group === group);
          if (inGroup.length === 0 && group !== "Everywhere") return null;
          return (
            <section key={group} className="mb-4 break-inside-avoid">
              <h3 className="mb-1 font-semibold">{group}</h3>
              <ul>
                {group === "Everywhere" && <ShortcutLine label="Search everything" keys="Ctrl K" />}
                {inGroup.map((shortcut) => (
                  <ShortcutLine key={shortcut.keys} label={shortcut.label} keys={shortcut.keys} />
                ))}
              </ul>
            </section>
          );
        })}
      </div>
      <label className="mt-2 flex items-center gap-2">
        <input
          type="checkbox"
          checked={isOn}
          onChange={(event) => {
            setOn(event.target.checked);
            setSingleKeys(event.target.checked);
          }}
        />
        Single-key shortcuts are on
      </label>
    </>
  );
}

function ShortcutLine({ label, keys }: { label: string; keys: string }) {
  return (
    <li className="flex items-center justify-between gap-3 py-0.5">
      <span className="text-text-2">{label}</span>
      <span className="flex gap-1">
        {keys.split(" ").map((key) => (
          <kbd key={key} className="kbd">
            {key}
          </kbd>
        ))}
      </span>
    </li>
  );
}
