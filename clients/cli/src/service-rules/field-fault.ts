/** One fault in a request. `field` is a path such as `context.confidence`, `capabilities[1]`, `query.limit`. */
export interface FieldFault {
  readonly field: string;
  readonly message: string;
}

/** Most faults in `details`: nobody reads more, and a single path can have thousands. */
export const MAX_FAULTS = 1000;
