/** The stored Merkle tree does not match its entries: the database was altered. */
export class TreeDamagedError extends Error {
  constructor(message: string) {
    super(`${message} The database was altered: verify it, and restore it from a backup.`);
    this.name = 'TreeDamagedError';
  }
}
