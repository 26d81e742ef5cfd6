/** How long an action can be undone. */
export const UNDO_MILLISECONDS = 8_000;
