/** Duration and number of measurements. */
export interface Effort {
  /** Duration of one measurement. */
  readonly seconds: number;
  /** Number of measurements of each thing, in turns with those of its references. */
  readonly rounds: number;
  /** The URL of a PostgreSQL server, on which databases are created and dropped. */
  readonly postgres: string;
}
