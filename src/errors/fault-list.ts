import type { FieldFault } from './domain-error';

/** A body of one mebibyte can hold a hundred thousand faults; nobody reads that many. */
const MOST_FAULTS = 1000;
/** Characters of fields and messages together: a single path can have thousands. */
const MOST_CHARACTERS = 128 * 1024;

/** The faults of a request that are told. Once it is full, no further one needs to be put into words. */
export class FaultList {
  private readonly told: FieldFault[] = [];
  private characters = 0;

  static of(faults: Iterable<FieldFault>): FaultList {
    const list = new FaultList();
    for (const fault of faults) {
      if (list.isFull) break;
      list.add(fault);
    }
    return list;
  }

  get isFull(): boolean {
    return this.told.length >= MOST_FAULTS || this.characters >= MOST_CHARACTERS;
  }

  get faults(): readonly FieldFault[] {
    return this.told;
  }

  /** Does nothing when the list is full. */
  add(fault: FieldFault): void {
    if (this.isFull) return;
    this.told.push(fault);
    this.characters += fault.field.length + fault.message.length;
  }
}
