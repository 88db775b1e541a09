/**
 * Items in the order of their times, until they are taken as too old.
 *
 * @template Item
 */
export class RecentItems {
  /** @type {{ item: Item, time: number }[]} */
  #queue = [];
  #start = 0;

  get size() {
    return this.#queue.length - this.#start;
  }

  /**
   * @param {Item} item
   * @param {number} time in milliseconds
   */
  add(item, time) {
    this.#queue.push({ item, time });
  }

  /**
   * Takes the items from before a time out of the queue. Each is moved a few times at most, however many there are.
   * @param {number} time in milliseconds
   * @returns {Item[]}
   */
  takeBefore(time) {
    const first = this.#start;
    for (let next = this.#queue[first]; next !== undefined && next.time < time; next = this.#queue[this.#start])
      this.#start += 1;
    const taken = this.#queue.slice(first, this.#start).map(({ item }) => item);
    if (this.#start * 2 > this.#queue.length) {
      this.#queue.splice(0, this.#start);
      this.#start = 0;
    }
    return taken;
  }
}
