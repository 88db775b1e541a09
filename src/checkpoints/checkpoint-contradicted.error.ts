/** The database does not extend its kept checkpoint. Startup ends with exit code 65. */
export class CheckpointContradictedError extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'CheckpointContradictedError';
  }
}
