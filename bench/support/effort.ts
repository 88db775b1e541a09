/** Duration and number of measurements. */
export interface Effort {
  /** Duration of one measurement. */
  readonly seconds: number;
  /** Measurements of each thing, alternating with those of its references. */
  readonly rounds: number;
  /** The URL of a PostgreSQL server, on which databases are created and dropped. */
  readonly postgres: string;
}
