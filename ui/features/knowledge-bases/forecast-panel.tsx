"use client";

import { useQuery } from "@tanstack/react-query";

import { type Schemas } from "@/api/client";
import { Banner } from "@/components/state";
import { formatCount, plural, UNKNOWN } from "@/lib/format";

import { forecastQuery, problemOf } from "./queries";

type Forecast = Schemas["ForecastAnswer"];
type Range = Schemas["Range"];

const DOLLARS = new Intl.NumberFormat("en-US", { style: "currency", currency: "USD", maximumSignificantDigits: 3 });

/** A number, or about which number with its range. */
export function inWords({ value, low, high }: Range): string {
  return low === high ? formatCount(value) : `about ${formatCount(value)} (${formatCount(low)}–${formatCount(high)})`;
}

function price(price: Forecast["price_usd"]): string {
  if (price === null) return UNKNOWN;
  return price.low === price.high ? DOLLARS.format(price.value) : `about ${DOLLARS.format(price.value)}`;
}

export function ForecastPanel({ body, isSettling }: { body: Schemas["ForecastBody"]; isSettling: boolean }) {
  const { data, error, isPlaceholderData, isFetching } = useQuery(forecastQuery(body));
  const problem = problemOf(body);
  const isOld = isSettling || isPlaceholderData || isFetching;
  return (
    <section aria-label="Forecast" className="flex flex-col gap-3 rounded-lg border border-line p-4">
      <h2 className="text-lg font-semibold">Forecast</h2>
      {body.tag_ids.length === 0 ? (
        <p className="text-text-2">Choose tags to see what indexing their documents would cost.</p>
      ) : problem ? (
        <p className="text-text-2">{problem}</p>
      ) : error ? (
        <Banner tone="warning">{error.message}</Banner>
      ) : !data ? (
        <p className="text-text-2">Reading the documents…</p>
      ) : (
        <Figures forecast={data} isOld={isOld} />
      )}
    </section>
  );
}

/** Where the documents' texts are sent, in a person's words. */
function destination(goesTo: Forecast["texts_go_to"]): string {
  if (goesTo.litellm_provider === "local") return "Stay on this server";
  if (!goesTo.leaves_machine) return "Stay on the machine that runs Analytiq";
  if (goesTo.is_operators_server) return "Are sent to a server chosen by your operator";
  return `Are sent to ${goesTo.address ?? goesTo.litellm_provider}`;
}

function Figures({ forecast, isOld }: { forecast: Forecast; isOld: boolean }) {
  const unknown = forecast.unknown_document_count;
  return (
    <div className={isOld ? "text-text-3" : ""} aria-busy={isOld}>
      <dl className="grid grid-cols-[120px_minmax(0,1fr)] gap-x-4 gap-y-1.5 tabular-nums">
        <dt className="text-text-2">Documents</dt>
        <dd>{formatCount(forecast.document_count + unknown)}</dd>
        <dt className="text-text-2">Embeddings</dt>
        <dd>{inWords(forecast.chunks)}</dd>
        <dt className="text-text-2">Cached</dt>
        <dd>{forecast.is_cache_known ? inWords(forecast.cached_chunks) : "unknown"}</dd>
        <dt className="text-text-2">SPUs</dt>
        <dd className="font-semibold">{inWords(forecast.spus)}</dd>
        <dt className="text-text-2">Price</dt>
        <dd>{price(forecast.price_usd)}</dd>
        <dt className="text-text-2">Model</dt>
        <dd className="break-words">{forecast.embedding_model}</dd>
        <dt className="text-text-2">Texts</dt>
        <dd className="break-words">{destination(forecast.texts_go_to)}</dd>
      </dl>
      {forecast.is_estimated && (
        <p className="mt-2 text-text-2">Estimated from a sample of {plural(forecast.sampled_documents, "document")}.</p>
      )}
      {unknown > 0 && (
        <p className="mt-2 text-warn">
          {plural(unknown, "document")} {unknown === 1 ? "is" : "are"} not included because the text is not extracted yet (
          {forecast.unknown_documents
            .slice(0, 3)
            .map((item) => item.document_name)
            .join(", ")}
          {unknown > 3 && ", …"}).
        </p>
      )}
    </div>
  );
}
