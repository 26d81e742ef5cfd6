import { configure } from "@testing-library/react";

// A busy machine answers late; a wait that succeeds ends at once.
configure({ asyncUtilTimeout: 10_000 });
