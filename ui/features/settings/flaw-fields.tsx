"use client";

import { type Control, useController } from "react-hook-form";

import type { OrganizationValues, SkippableFlaw } from "./organization-values";

const FLAWS: readonly { kind: SkippableFlaw; label: string; hint: string }[] = [
  { kind: "noise", label: "Unreadable text", hint: "Symbols and letters without sense, such as from a PDF font without a Unicode map" },
  { kind: "misdecoded", label: "Text in a wrong charset", hint: "Such as Ã© in place of é" },
  { kind: "machine_text", label: "Machine text", hint: "Base64, hex dumps, keys, minified scripts" },
  { kind: "visual_order", label: "Reversed Hebrew or Arabic", hint: "Words spelt from their ends" },
];

/** The flawed text that knowledge bases leave out. */
export function FlawFields({ control }: { control: Control<OrganizationValues> }) {
  const { field } = useController({ control, name: "skipped_flaws" });
  return (
    <section aria-labelledby="flawed-text" className="flex flex-col gap-3">
      <h2 id="flawed-text" className="text-lg font-semibold">
        Flawed text
      </h2>
      <p className="text-text-2">
        Leave text of these kinds out of all knowledge bases: searches do not find it, and it costs nothing. The stored text stays complete.
        A change indexes the documents with such text again.
      </p>
      {FLAWS.map(({ kind, label, hint }) => (
        <label key={kind} className="flex items-start gap-2">
          <input
            type="checkbox"
            className="mt-1"
            checked={field.value.includes(kind)}
            onChange={(event) =>
              field.onChange(
                FLAWS.map((one) => one.kind).filter((one) => (one === kind ? event.target.checked : field.value.includes(one))),
              )
            }
          />
          <span>
            {label}
            <span className="block text-text-3">{hint}</span>
          </span>
        </label>
      ))}
    </section>
  );
}
