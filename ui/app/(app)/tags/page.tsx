import { Suspense } from "react";

import { SkeletonBlock } from "@/components/feedback";
import { TagsList } from "@/features/tags/tags";

export default function TagsListPage() {
  return (
    <Suspense fallback={<SkeletonBlock lines={8} />}>
      <TagsList />
    </Suspense>
  );
}
