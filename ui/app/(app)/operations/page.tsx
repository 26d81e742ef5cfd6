import { Suspense } from "react";

import { SkeletonBlock } from "@/components/feedback";
import { OperationsTabs } from "@/features/operations/operations-tabs";

export default function OperationsPage() {
  return (
    <Suspense fallback={<SkeletonBlock lines={8} />}>
      <OperationsTabs />
    </Suspense>
  );
}
