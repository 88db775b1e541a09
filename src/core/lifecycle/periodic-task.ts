/**
 * Repeats a task until it is stopped. Runs never overlap. Jitter spreads the processes in time: the first finds the
 * work, and the others find it done.
 */
export class PeriodicTask {
  private timer: NodeJS.Timeout | null = null;
  private running: Promise<void> | null = null;
  private isStopped = false;
  private hasFailed = false;

  /**
   * @param interval average milliseconds between repetitions
   * @param onFailure called with an error, then not again until a run succeeds; repetition continues
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

  /** Resolves when the task is no longer running. */
  async stop(): Promise<void> {
    this.isStopped = true;
    if (this.timer !== null) clearTimeout(this.timer);
    await this.running;
  }

  get hasBegun(): boolean {
    return this.timer !== null;
  }

  get isStopping(): boolean {
    return this.isStopped;
  }

  private run(): void {
    this.running = this.attempt().finally(() => this.begin());
  }

  private async attempt(): Promise<void> {
    try {
      await this.work();
      this.hasFailed = false;
    } catch (error) {
      if (!this.hasFailed) this.onFailure(error);
      this.hasFailed = true;
    }
  }
}
