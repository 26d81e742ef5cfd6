import { Suspense } from "react";

import { SkeletonBlock } from "@/components/feedback";
import { Operations } from "@/features/operations/operations";

export default function OperationsPage() {
  return (
    <Suspense fallback={<SkeletonBlock lines={8} />}>
      <Operations />
    </Suspense>
  );
}
