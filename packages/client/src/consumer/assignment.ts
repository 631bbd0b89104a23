/**
 * Who of a group reads which partition: a pure function of what the group's table says. Every member computes it
 * alone and acts on its own part only; leases keep two members that disagree for a moment apart.
 *
 * Balanced: no member has two partitions more than another one that may read one of them. Sticky: a partition stays
 * where it is unless balance needs a move, and there are as few moves as balance allows.
 */

export interface GroupMember {
  readonly id: string;
  /** Whether it may read this partition. Absent: all. */
  readonly reads?: (partition: string) => boolean;
}

/** Partitions by key, and the live owner of each; absent or no longer a member: it is free. */
export type LeaseOwners = ReadonlyMap<string, string>;

/**
 * The wanted owner of each partition; those that no member may read are absent.
 * @param partitions keys, in any order
 */
export function assignPartitions(
  members: readonly GroupMember[],
  partitions: readonly string[],
  owners: LeaseOwners,
): Map<string, string> {
  const shares = new Map<string, Share>();
  for (const member of [...members].sort((left, right) => compare(left.id, right.id))) {
    shares.set(member.id, { member, partitions: [] });
  }
  const free: string[] = [];
  for (const partition of [...new Set(partitions)].sort(compare)) {
    const owner = shares.get(owners.get(partition) ?? "");
    if (owner !== undefined && mayRead(owner, partition)) {
      owner.partitions.push(partition);
    } else {
      free.push(partition);
    }
  }
  const all = [...shares.values()];
  for (const partition of free) {
    leastLoaded(all, partition)?.partitions.push(partition);
  }
  while (moveOne(all)) {
    // Until nothing is left to move.
  }
  const wanted = new Map<string, string>();
  for (const share of all) {
    for (const partition of share.partitions) {
      wanted.set(partition, share.member.id);
    }
  }
  return wanted;
}

interface Share {
  readonly member: GroupMember;
  readonly partitions: string[];
}

function mayRead({ member }: Share, partition: string): boolean {
  return member.reads === undefined || member.reads(partition);
}

function leastLoaded(shares: readonly Share[], partition: string): Share | undefined {
  let least: Share | undefined;
  for (const share of shares) {
    if (
      mayRead(share, partition) &&
      (least === undefined || share.partitions.length < least.partitions.length)
    ) {
      least = share;
    }
  }
  return least;
}

/** Moves a partition from who has most to who has least, if that makes the two more equal. */
function moveOne(shares: readonly Share[]): boolean {
  const byLoad = [...shares].sort((left, right) => right.partitions.length - left.partitions.length);
  for (const giver of byLoad) {
    for (const taker of byLoad.toReversed()) {
      if (giver.partitions.length - taker.partitions.length < 2) {
        break;
      }
      const index = giver.partitions.findLastIndex((partition) => mayRead(taker, partition));
      const [partition] = index < 0 ? [] : giver.partitions.splice(index, 1);
      if (partition !== undefined) {
        taker.partitions.push(partition);
        return true;
      }
    }
  }
  return false;
}

function compare(left: string, right: string): number {
  return left < right ? -1 : left > right ? 1 : 0;
}
