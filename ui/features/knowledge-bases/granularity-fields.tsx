"use client";

import { type Control, useController } from "react-hook-form";

import { FieldProblem, SelectField } from "@/components/ui/form";

import { type BaseValues, INDEX_TYPES } from "./base-fields";

/** The chunkers that cut by sections. */
const BY_SECTION = new Set(["auto", "code", "row", "section"]);

export const cutsBySection = (chunker: string) => BY_SECTION.has(chunker);

const LEVELS = [1, 2, 3, 4, 5, 6];
const LABELS: Record<(typeof INDEX_TYPES)[number], string> = {
  paragraph: "Chunks, as set above",
  section: "Sections: each heading with its text",
  website: "Whole pages, or the whole document if it has no pages",
};

/** The heading level at which sections end, and the granularities that are indexed. */
export function GranularityFields({ control, chunker }: { control: Control<BaseValues>; chunker: string }) {
  const { field } = useController({ control, name: "index_types" });
  const toggled = (type: (typeof INDEX_TYPES)[number], isOn: boolean) =>
    INDEX_TYPES.filter((one) => (one === type ? isOn : field.value.includes(one)));
  return (
    <details className="flex flex-col gap-4">
      <summary className="cursor-pointer font-medium">Advanced settings</summary>
      <div className="mt-3 flex flex-col gap-4">
        {cutsBySection(chunker) && (
          <SelectField
            control={control}
            name="section_level"
            label="Always end a chunk at headings"
            hint="Otherwise small sections fill a chunk together."
          >
            <option value="0">Automatic</option>
            {LEVELS.map((level) => (
              <option key={level} value={level}>
                {level === 1 ? "Of level 1" : `Of levels 1 to ${level}`}
              </option>
            ))}
          </SelectField>
        )}
        <fieldset className="flex flex-col gap-1">
          <legend className="font-medium">Index</legend>
          {INDEX_TYPES.map((type) => (
            <label key={type} className="flex items-center gap-2">
              <input
                type="checkbox"
                checked={field.value.includes(type)}
                disabled={field.value.length === 1 && field.value.includes(type)}
                onChange={(event) => field.onChange(toggled(type, event.target.checked))}
              />
              {LABELS[type]}
            </label>
          ))}
          <p className="text-xs text-text-2">Each costs embeddings of its own. Searches show a passage once, in its smallest form.</p>
          <FieldProblem control={control} name="index_types" />
        </fieldset>
      </div>
    </details>
  );
}
