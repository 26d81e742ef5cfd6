"use client";

import { useQuery } from "@tanstack/react-query";

import { formatCount, plural } from "@/lib/format";

import { providerModelsQuery } from "./queries";

/** The models of a provider that can be asked, once its key has proved good. */
export function ProviderModels({ name }: { name: string }) {
  const { data } = useQuery(providerModelsQuery(name));
  if (!data) return null;
  const unreachable = data.unreachable[name];
  if (unreachable) return <div className="text-warn">Models could not be listed: {unreachable}</div>;
  return (
    <details>
      <summary className="cursor-pointer text-link">{plural(data.total_count, "model")}</summary>
      <ul className="mt-1 flex max-h-[180px] flex-col overflow-y-auto font-mono text-xs" tabIndex={0} aria-label={`Models of ${name}`}>
        {data.models.map((model) => (
          <li key={model.model} className="break-all">
            {model.model} <span className="text-text-3">{model.kind === "unknown" ? "" : model.kind}</span>
          </li>
        ))}
        {data.total_count > data.models.length && (
          <li className="text-text-3">and {formatCount(data.total_count - data.models.length)} more</li>
        )}
      </ul>
    </details>
  );
}
