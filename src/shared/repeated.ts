/**
 * Does something again and again until it is stopped, one time after another; a little out of step with other processes, so
 * that one of them finds first what is to be done, and the others find it done.
 */
export class Repeated {
  private timer: NodeJS.Timeout | null = null;
  private running: Promise<void> | null = null;
  private isStopped = false;

  /**
   * @param interval milliseconds between the times on average.
   * @param onFailure it is done again all the same.
   */
  constructor(
    private readonly interval: number,
    private readonly work: () => Promise<void>,
    private readonly onFailure: (error: unknown) => void,
  ) {}

  begin(): void {
    if (this.isStopped) return;
    this.timer = setTimeout(() => this.run(), this.interval * (0.5 + Math.random())).unref();
  }

  /** Resolves when it is not under way any more. */
  async stop(): Promise<void> {
    this.isStopped = true;
    if (this.timer !== null) clearTimeout(this.timer);
    await this.running;
  }

  get isStopping(): boolean {
    return this.isStopped;
  }

  private run(): void {
    this.running = this.work()
      .catch(this.onFailure)
      .finally(() => this.begin());
  }
}
