/** A binary heap: the least item first. */
export class TimerHeap<Item> {
  readonly #compare: (left: Item, right: Item) => number;
  readonly #items: Item[] = [];

  constructor(compare: (left: Item, right: Item) => number) {
    this.#compare = compare;
  }

  peek(): Item | undefined {
    return this.#items[0];
  }

  /** In no particular order. */
  items(): readonly Item[] {
    return this.#items;
  }

  push(item: Item): void {
    this.#items.push(item);
    let index = this.#items.length - 1;
    while (index > 0) {
      const parent = (index - 1) >> 1;
      if (!this.#swapIfLess(index, parent)) {
        return;
      }
      index = parent;
    }
  }

  pop(): Item | undefined {
    const [top] = this.#items;
    const last = this.#items.pop();
    if (this.#items.length > 0 && last !== undefined) {
      this.#items[0] = last;
      this.#sink();
    }
    return top;
  }

  #sink(): void {
    for (let index = 0; ; ) {
      const left = index * 2 + 1;
      const right = left + 1;
      const least = right < this.#items.length && this.#isLess(right, left) ? right : left;
      if (left >= this.#items.length || !this.#swapIfLess(least, index)) {
        return;
      }
      index = least;
    }
  }

  #isLess(index: number, other: number): boolean {
    const item = this.#items[index];
    const against = this.#items[other];
    return item !== undefined && against !== undefined && this.#compare(item, against) < 0;
  }

  #swapIfLess(index: number, other: number): boolean {
    const item = this.#items[index];
    const against = this.#items[other];
    if (item === undefined || against === undefined || this.#compare(item, against) >= 0) {
      return false;
    }
    this.#items[index] = against;
    this.#items[other] = item;
    return true;
  }
}
