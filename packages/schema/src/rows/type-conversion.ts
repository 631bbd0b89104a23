/**
 * Conversions between the type of an input value and the type of its column, as the attributes of the input format
 * allow them. Specified in: yt/yt/client/table_client/config.h (TTypeConversionConfig), value_consumer.cpp.
 */
import { bare, type YsonMap } from "@qyt/base";

export interface TypeConversion {
  /** A string becomes a number or a boolean. */
  readonly stringToAll: boolean;
  /** A number or a boolean becomes a string. */
  readonly allToString: boolean;
  /** int64 and uint64 become each other where the value fits. */
  readonly integral: boolean;
  readonly integralToDouble: boolean;
  /** An explicit null in a column of type `any` becomes the YSON value `#`. */
  readonly nullToYsonEntity: boolean;
}

/**
 * The conversions that the attributes of a format allow.
 * @param nullToYsonEntity the default of `enable_null_to_yson_entity_conversion`, which depends on the command
 */
export function typeConversionOf(attributes: YsonMap, nullToYsonEntity: boolean): TypeConversion {
  const flag = (name: string, byDefault: boolean): boolean => {
    const value = bare(attributes.get(name) ?? null);
    return value === null ? byDefault : value === true || value === "true";
  };
  const everything = flag("enable_type_conversion", false);
  return {
    stringToAll: everything || flag("enable_string_to_all_conversion", false),
    allToString: everything || flag("enable_all_to_string_conversion", false),
    integral: everything || flag("enable_integral_type_conversion", true),
    integralToDouble: everything || flag("enable_integral_to_double_conversion", false),
    nullToYsonEntity: flag("enable_null_to_yson_entity_conversion", nullToYsonEntity),
  };
}

/** A decimal int64 or uint64, or undefined when the text is none. */
export function parseInteger(text: string, isUnsigned: boolean): bigint | undefined {
  if (!(isUnsigned ? /^\+?\d+u?$/ : /^[+-]?\d+$/).test(text)) {
    return undefined;
  }
  const value = BigInt(text.replace(/^\+|u$/g, ""));
  const fits = isUnsigned ? BigInt.asUintN(64, value) === value : BigInt.asIntN(64, value) === value;
  return fits ? value : undefined;
}

/** A decimal double, `nan`, `inf` or `-inf`, or undefined when the text is none. */
export function parseDouble(text: string): number | undefined {
  if (/^[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?$/.test(text)) {
    return Number(text);
  }
  switch (text.toLowerCase()) {
    case "nan":
      return Number.NaN;
    case "inf":
    case "+inf":
      return Number.POSITIVE_INFINITY;
    case "-inf":
      return Number.NEGATIVE_INFINITY;
    default:
      return undefined;
  }
}

/** `true` or `false` in any case, or undefined. */
export function parseBoolean(text: string): boolean | undefined {
  const lower = text.toLowerCase();
  return lower === "true" ? true : lower === "false" ? false : undefined;
}

/** The shortest text that gives the double back, with a point or an exponent. */
export function formatDouble(value: number): string {
  if (Number.isFinite(value)) {
    const text = Object.is(value, -0) ? "-0" : String(value);
    return /[.e]/.test(text) ? text : `${text}.`;
  }
  return Number.isNaN(value) ? "nan" : value > 0 ? "inf" : "-inf";
}
