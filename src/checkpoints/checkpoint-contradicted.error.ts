/** The database does not extend the checkpoint that was kept of it. A start ends with exit code 65. */
export class CheckpointContradictedError extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'CheckpointContradictedError';
  }
}
