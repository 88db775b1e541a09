/** Number of ids that are kept: some megabytes. */
const MAX_IDS = 50_000;

/**
 * The executions that this gateway has sent, the latest of them: a service whose database was restored may authorise
 * one again.
 */
export class SentExecutions {
  private readonly ids: Set<string>;

  /** @param open executions that the journal has from an earlier process */
  constructor(open: readonly string[]) {
    this.ids = new Set(open);
  }

  /** Adds an execution; false if it is there. */
  add(id: string): boolean {
    if (this.ids.has(id)) return false;
    this.ids.add(id);
    const [oldest] = this.ids;
    if (this.ids.size > MAX_IDS && oldest !== undefined) this.ids.delete(oldest);
    return true;
  }
}
