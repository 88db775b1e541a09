/** What is stored of the Merkle tree is not what its entries make: the database was altered. */
export class TreeDamagedError extends Error {
  constructor(message: string) {
    super(`${message} The database was altered: verify it, and restore it from a backup.`);
    this.name = 'TreeDamagedError';
  }
}
