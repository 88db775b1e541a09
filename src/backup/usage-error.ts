/** What cannot be carried out as it was asked. */
export class UsageError extends Error {}
