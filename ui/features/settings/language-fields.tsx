"use client";

import { type Control, useController } from "react-hook-form";

import { FieldProblem } from "@/components/ui/form";

import type { OrganizationValues } from "./organization-values";

/** "deu" is "German (deu)", where the browser knows the code. */
function languageName(code: string): string {
  const tag = code.replace(/_.*/, "");
  try {
    const name = new Intl.DisplayNames(["en"], { type: "language", fallback: "none" }).of(tag);
    return name ? `${name} (${code})` : code;
  } catch {
    return code;
  }
}

interface LanguageFieldsProps {
  control: Control<OrganizationValues>;
  available: readonly string[];
  servers: readonly string[];
}

/** Languages that text in pictures is read in. */
export function LanguageFields({ control, available, servers }: LanguageFieldsProps) {
  const { field } = useController({ control, name: "ocr_languages" });
  const { value: chosen, onChange } = field;
  // A language may be chosen whose data was taken away since.
  const offered = [...new Set([...available, ...(chosen ?? [])])].sort();
  const first = servers.filter((code) => available.includes(code));
  return (
    <fieldset className="flex flex-col gap-2">
      <legend className="mb-1 font-medium">Languages of scanned documents</legend>
      <label className="flex items-center gap-2">
        <input type="radio" name="languages" checked={chosen === null} onChange={() => onChange(null)} />
        Same as the server: {servers.map(languageName).join(", ")}
      </label>
      <label className="flex items-center gap-2">
        <input
          type="radio"
          name="languages"
          checked={chosen !== null}
          disabled={available.length === 0}
          onChange={() => onChange(first.length > 0 ? first : available.slice(0, 1))}
        />
        These
      </label>
      {chosen !== null && (
        <div className="ml-6 flex flex-wrap gap-x-4 gap-y-1">
          {offered.map((code) => (
            <label key={code} className="flex items-center gap-2">
              <input
                type="checkbox"
                checked={chosen.includes(code)}
                onChange={(event) => onChange(event.target.checked ? [...chosen, code] : chosen.filter((other) => other !== code))}
              />
              {languageName(code)}
            </label>
          ))}
        </div>
      )}
      <span className="text-text-3">
        {available.length === 0
          ? "No language data is installed on the server."
          : "Applies from the next extraction. More languages take longer."}
      </span>
      <FieldProblem control={control} name="ocr_languages" />
    </fieldset>
  );
}
