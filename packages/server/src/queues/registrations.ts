/**
 * `register_queue_consumer`, `unregister_queue_consumer`, `list_queue_consumer_registrations`.
 *
 * Specified in: yt/yt/ytlib/api/native/client_dynamic_tables_impl.cpp (Do…QueueConsumer…).
 */
import { toYtError, YtError } from "@qyt/base";
import type { RichPath } from "@qyt/yson";
import type { QueueContext, QueueServices } from "./context.ts";
import type { ConsumerReference, Reference } from "./reference.ts";
import { clusterOf } from "./reference.ts";
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
 */
export async function unregisterQueueConsumer(
  services: QueueServices,
  context: QueueContext,
  parameters: { readonly queuePath: RichPath; readonly consumerPath: RichPath },
): Promise<void> {
  await requireRightToUnregister(services, context, parameters);
  const queue = await resolveReference(services, context, parameters.queuePath, "lenient");
  const consumer = await resolveConsumer(services, context, parameters.consumerPath, "lenient");
  await services.registrations.remove(context, queue, consumer);
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
  for (const path of [parameters.queuePath, parameters.consumerPath]) {
    for (const permission of ["remove", "write"]) {
      try {
        const answer = await isAllowed(services, context, path, permission);
        if (answer.allowed) {
          return;
        }
        denials.push(answer.error);
      } catch (thrown) {
        if (toYtError(thrown).has("ResolveError")) {
          return;
        }
        throw thrown;
      }
    }
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
