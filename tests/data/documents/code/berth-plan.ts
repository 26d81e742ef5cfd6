/** A ship's stay at a berth, in hours since the start of the week. */
export interface Stay {
  ship: string;
  arrival: number;
  departure: number;
}

/** Return the stays that overlap another one at the same berth. */
export function conflicts(stays: readonly Stay[]): Stay[] {
  return stays.filter((stay) =>
    stays.some((other) => other !== stay && other.arrival < stay.departure && stay.arrival < other.departure),
  );
}
