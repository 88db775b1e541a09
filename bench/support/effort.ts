/** The way in which the benchmark measures, as its options say. */
export interface Effort {
  /** Duration of one measurement, in seconds. */
  readonly seconds: number;
  /** Number of measurements of each thing. The measurements of a thing and of its reference take turns. */
  readonly rounds: number;
  /** URL of a PostgreSQL server, on which the benchmark creates and drops databases. */
  readonly postgres: string;
}
