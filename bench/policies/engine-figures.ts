/** The JSON that a program prints after it has evaluated a workload. */
export interface EngineFigures {
  /** The rate of each round. */
  readonly checksPerSecond: readonly number[];
  /** True for each of the first requests that is allowed. */
  readonly allowed: readonly boolean[];
}
