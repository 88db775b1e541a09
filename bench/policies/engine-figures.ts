/** What a program that evaluates a workload prints, as JSON. */
export interface EngineFigures {
  /** Of each round. */
  readonly checksPerSecond: readonly number[];
  /** Whether each of the first requests is allowed. */
  readonly allowed: readonly boolean[];
}
