/**
 * `register_queue_consumer`, `unregister_queue_consumer`, `list_queue_consumer_registrations`.
 *
 * Specified in: yt/yt/ytlib/api/native/client_dynamic_tables_impl.cpp (Do…QueueConsumer…).
 */
import { toYtError, YtError } from "@qyt/base";
import type { RichPath } from "@qyt/yson";
import { isUnanswered } from "../clusters/index.ts";
import type { QueueContext, QueueServices } from "./context.ts";
import type { ConsumerReference, Reference } from "./reference.ts";
import { clusterOf, consumerNameOf, consumerOf, formatReference } from "./reference.ts";
import { isServedHere, resolveConsumer, resolveReference } from "./references.ts";
import type { Registration } from "./registration-rows.ts";

export interface RegisterParameters {
  readonly queuePath: RichPath;
  readonly consumerPath: RichPath;
  readonly vital: boolean;
  /** Absent: all partitions. Not checked against the queue. */
  readonly partitions?: readonly bigint[];
}

/** Needs `register_queue_consumer` with the asked vitality on the queue. Registering again replaces the row. */
export async function registerQueueConsumer(
  services: QueueServices,
  context: QueueContext,
  parameters: RegisterParameters,
): Promise<void> {
  const allowed = await isAllowed(
    services,
    context,
    parameters.queuePath,
    "register_queue_consumer",
    parameters.vital,
  );
  if (!allowed.allowed) {
    throw mayNotRegister(services, context, parameters, allowed.error);
  }
  const queue = await resolveReference(services, context, parameters.queuePath, "strict");
  const consumer = await resolveConsumer(services, context, parameters.consumerPath, "strict");
  for (const { cluster } of [queue, consumer]) {
    await services.keepers.requireAgreement(context, cluster);
  }
  await services.registrations.put(context, {
    queue,
    consumer,
    vital: parameters.vital,
    partitions: parameters.partitions ?? null,
  });
}

/** Says what is missing, and where and how it can be granted. */
function mayNotRegister(
  services: QueueServices,
  context: QueueContext,
  { queuePath, vital }: RegisterParameters,
  denial: YtError,
): YtError {
  const { user } = context;
  const cluster = clusterOf(queuePath) ?? services.clusterName;
  const path = denial.attributes.get("path");
  const queue = typeof path === "string" ? path : queuePath.path;
  const directory = queue.replace(/\/(?:[^/\\]|\\.)*$/, "");
  const grant = `qyt acl grant ${queue} --user ${user} --register-queue-consumer${vital ? " --vital" : ""}`;
  const below = directory.length > 2 ? `, or on its directory ${directory} for all queues in there` : "";
  return new YtError(
    `User "${user}" may not register a ${vital ? "vital" : "non-vital"} consumer: permission "register_queue_consumer" with vital=%${vital} is missing on queue ${cluster}:${queue}. Who has "administer" can grant it there (${grant})${below}`,
    {
      code: "AuthorizationError",
      inner: [denial],
      attributes: { permission: "register_queue_consumer", vital, user, path: queue, cluster, directory },
    },
  );
}

/**
 * Needs `remove` or `write` on the queue or on the consumer; nothing when either object is gone, so that
 * stale registrations can always be cleaned up. A registration that does not exist is no error.
 *
 * While the cluster of one of them does not answer, the right on the other one suffices. Whether the path
 * there is a link cannot be told then, so it has to be the one that is registered.
 */
export async function unregisterQueueConsumer(
  services: QueueServices,
  context: QueueContext,
  parameters: { readonly queuePath: RichPath; readonly consumerPath: RichPath },
): Promise<void> {
  await requireRightToUnregister(services, context, parameters);
  const { queuePath, consumerPath } = parameters;
  const queue = await resolveOrTake(services, context, queuePath);
  const consumer = await resolveOrTake(services, context, consumerPath);
  const registered = consumerOf(consumer.reference, consumerNameOf(consumerPath));
  const unanswered = queue.unanswered ?? consumer.unanswered;
  if (
    unanswered !== undefined &&
    (await services.registrations.find(context, queue.reference, registered)) === undefined
  ) {
    throw unanswered.wrap(
      `No consumer ${formatReference(registered)} is registered for queue ${formatReference(queue.reference)}, ` +
        `and a cluster that would tell whether these paths are links did not answer; ` +
        `name the paths that list_queue_consumer_registrations tells`,
    );
  }
  await services.registrations.remove(context, queue.reference, registered);
}

/** As `resolveReference`; when the cluster of the path does not answer, the path as it is, and why. */
async function resolveOrTake(
  services: QueueServices,
  context: QueueContext,
  path: RichPath,
): Promise<{ readonly reference: Reference; readonly unanswered: YtError | undefined }> {
  try {
    const reference = await resolveReference(services, context, path, "lenient");
    return { reference, unanswered: undefined };
  } catch (thrown) {
    const error = toYtError(thrown);
    const cluster = clusterOf(path);
    if (cluster === undefined || !isUnanswered(error)) {
      throw error;
    }
    return { reference: { cluster, path: path.path }, unanswered: error };
  }
}

export async function listQueueConsumerRegistrations(
  services: QueueServices,
  context: QueueContext,
  filter: { readonly queuePath?: RichPath | undefined; readonly consumerPath?: RichPath | undefined },
): Promise<readonly Registration[]> {
  const resolved: { queue?: Reference; consumer?: ConsumerReference } = {};
  if (filter.queuePath !== undefined) {
    resolved.queue = await resolveReference(services, context, filter.queuePath, "lenient");
  }
  if (filter.consumerPath !== undefined) {
    resolved.consumer = await resolveConsumer(services, context, filter.consumerPath, "lenient");
  }
  return services.registrations.list(context, resolved);
}

async function requireRightToUnregister(
  services: QueueServices,
  context: QueueContext,
  parameters: { readonly queuePath: RichPath; readonly consumerPath: RichPath },
): Promise<void> {
  const denials: YtError[] = [];
  let unanswered: YtError | undefined;
  const isHere = (path: RichPath): number => (isServedHere(services, clusterOf(path)) ? 0 : 1);
  // What is here first: it answers at once, and may be enough.
  const paths = [parameters.queuePath, parameters.consumerPath].sort((a, b) => isHere(a) - isHere(b));
  for (const path of paths) {
    try {
      for (const permission of ["remove", "write"]) {
        const answer = await isAllowed(services, context, path, permission);
        if (answer.allowed) {
          return;
        }
        denials.push(answer.error);
      }
    } catch (thrown) {
      const error = toYtError(thrown);
      if (error.has("ResolveError")) {
        return;
      }
      if (!isUnanswered(error)) {
        throw error;
      }
      unanswered ??= error;
    }
  }
  if (unanswered !== undefined) {
    throw unanswered;
  }
  throw new YtError(
    `Unregistering a consumer needs "remove" or "write" permission on the queue or on the consumer`,
    { code: "AuthorizationError", inner: denials },
  );
}

type Permission = Parameters<ReturnType<QueueServices["view"]>["check"]>[1];
type Answer = { readonly allowed: true } | { readonly allowed: false; readonly error: YtError };

/** Asks the cluster of the path. @throws YtError 500 when the object is not there */
async function isAllowed(
  services: QueueServices,
  context: QueueContext,
  path: RichPath,
  permission: string,
  vital?: boolean,
): Promise<Answer> {
  const cluster = clusterOf(path);
  if (cluster === undefined || isServedHere(services, cluster)) {
    const view = services.view();
    const node = view.resolveNode(path.path);
    try {
      view.check(context.user, permission as Permission, node, vital === undefined ? {} : { vital });
      return { allowed: true };
    } catch (thrown) {
      const error = toYtError(thrown);
      if (error.has("AuthorizationError")) {
        return { allowed: false, error };
      }
      throw error;
    }
  }
  const answer = await services.clusters.call(cluster, context.user, context, (client, options) =>
    client.execute(
      "check_permission",
      { user: context.user, permission, path: path.path, vital },
      { ...options, method: "GET" },
    ),
  );
  if (answer instanceof Map && answer.get("action") === "allow") {
    return { allowed: true };
  }
  return {
    allowed: false,
    error: new YtError(
      `Access denied for user "${context.user}": "${permission}" permission for ${cluster}:${path.path} is not allowed by any matching ACE`,
      {
        code: "AuthorizationError",
        attributes: { permission, user: context.user, path: path.path, cluster, vital },
      },
    ),
  };
}
