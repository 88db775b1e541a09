/** Bytes that bodies may hold together, and how many they do. */
export class BodyAccount {
  private held = 0;
  private heldInQueue = 0;

  constructor(private readonly size: number) {}

  get heldBytes(): number {
    return this.held;
  }

  /**
   * Whether a body may take so many more. Where everything belongs to bodies that wait for more themselves, nobody would
   * ever give anything back: then one may, whatever it takes.
   */
  has(bytes: number): boolean {
    return this.held === this.heldInQueue || this.held + bytes <= this.size;
  }

  take(bytes: number): void {
    this.held += bytes;
  }

  giveBack(bytes: number): void {
    this.held -= bytes;
  }

  /** A body that holds these begins to wait for more. */
  queue(bytes: number): void {
    this.heldInQueue += bytes;
  }

  unqueue(bytes: number): void {
    this.heldInQueue -= bytes;
  }
}
