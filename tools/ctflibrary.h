/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * libbabeltrace2, loaded when a trace is read: being linked with it would have
 * every command wait for it and GLib.
 */
#ifndef OW_CTFLIBRARY_H
#define OW_CTFLIBRARY_H

#include <babeltrace2/babeltrace.h>
#include <stdbool.h>
#include <stddef.h>

#define CTF_LIBRARY_FUNCTIONS(F)                                 \
	F(bt_clock_snapshot_get_ns_from_origin)                  \
	F(bt_component_filter_borrow_input_port_by_index_const)  \
	F(bt_component_filter_borrow_output_port_by_index_const) \
	F(bt_component_sink_borrow_input_port_by_index_const)    \
	F(bt_component_source_borrow_output_port_by_index_const) \
	F(bt_component_source_get_output_port_count)             \
	F(bt_current_thread_clear_error)                         \
	F(bt_current_thread_take_error)                          \
	F(bt_error_borrow_cause_by_index)                        \
	F(bt_error_cause_get_message)                            \
	F(bt_error_get_cause_count)                              \
	F(bt_error_release)                                      \
	F(bt_event_borrow_class_const)                           \
	F(bt_event_borrow_common_context_field_const)            \
	F(bt_event_borrow_payload_field_const)                   \
	F(bt_event_borrow_specific_context_field_const)          \
	F(bt_event_borrow_stream_const)                          \
	F(bt_event_class_get_name)                               \
	F(bt_field_array_borrow_element_field_by_index_const)    \
	F(bt_field_array_get_length)                             \
	F(bt_field_borrow_class_const)                           \
	F(bt_field_class_structure_borrow_member_by_index_const) \
	F(bt_field_class_structure_get_member_count)             \
	F(bt_field_class_structure_member_get_name)              \
	F(bt_field_get_class_type)                               \
	F(bt_field_integer_signed_get_value)                     \
	F(bt_field_integer_unsigned_get_value)                   \
	F(bt_field_string_get_value)                             \
	F(bt_field_structure_borrow_member_field_by_index_const) \
	F(bt_graph_add_filter_component)                         \
	F(bt_graph_add_simple_sink_component)                    \
	F(bt_graph_add_source_component)                         \
	F(bt_graph_connect_ports)                                \
	F(bt_graph_create)                                       \
	F(bt_graph_put_ref)                                      \
	F(bt_graph_run_once)                                     \
	F(bt_message_discarded_events_borrow_stream_const)       \
	F(bt_message_discarded_events_get_count)                 \
	F(bt_message_discarded_packets_borrow_stream_const)      \
	F(bt_message_event_borrow_default_clock_snapshot_const)  \
	F(bt_message_event_borrow_event_const)                   \
	F(bt_message_get_type)                                   \
	F(bt_message_iterator_next)                              \
	F(bt_message_put_ref)                                    \
	F(bt_plugin_borrow_filter_component_class_by_name_const) \
	F(bt_plugin_borrow_source_component_class_by_name_const) \
	F(bt_plugin_find)                                        \
	F(bt_plugin_put_ref)                                     \
	F(bt_stream_borrow_class_const)                          \
	F(bt_stream_borrow_trace_const)                          \
	F(bt_stream_class_borrow_default_clock_class_const)      \
	F(bt_stream_class_borrow_event_class_by_index_const)     \
	F(bt_stream_class_get_event_class_count)                 \
	F(bt_trace_borrow_environment_entry_value_by_name_const) \
	F(bt_value_array_append_string_element)                  \
	F(bt_value_get_type)                                     \
	F(bt_value_map_create)                                   \
	F(bt_value_map_insert_empty_array_entry)                 \
	F(bt_value_map_insert_string_entry)                      \
	F(bt_value_put_ref)                                      \
	F(bt_value_string_get)                                   \
	CTF_LIBRARY_TIMES_OF_LOSSES(F)

#define CTF_LIBRARY_TIMES_OF_LOSSES(F)                                                \
	F(bt_message_discarded_events_borrow_beginning_default_clock_snapshot_const)  \
	F(bt_message_discarded_events_borrow_end_default_clock_snapshot_const)        \
	F(bt_message_discarded_packets_borrow_beginning_default_clock_snapshot_const) \
	F(bt_message_discarded_packets_borrow_end_default_clock_snapshot_const)       \
	F(bt_stream_class_discarded_events_have_default_clock_snapshots)              \
	F(bt_stream_class_discarded_packets_have_default_clock_snapshots)

struct ctf_library {
#define CTF_LIBRARY_MEMBER(name) __typeof__(&name) name##_;
	CTF_LIBRARY_FUNCTIONS(CTF_LIBRARY_MEMBER)
#undef CTF_LIBRARY_MEMBER
};

extern struct ctf_library ctf_library;

/* Load it, or say why not. */
bool ctf_library_load(char *why, size_t size);

/* What calls these functions calls the library's. */
#ifndef CTF_LIBRARY_ITSELF
#define bt_clock_snapshot_get_ns_from_origin \
	ctf_library.bt_clock_snapshot_get_ns_from_origin_
#define bt_component_filter_borrow_input_port_by_index_const \
	ctf_library.bt_component_filter_borrow_input_port_by_index_const_
#define bt_component_filter_borrow_output_port_by_index_const \
	ctf_library.bt_component_filter_borrow_output_port_by_index_const_
#define bt_component_sink_borrow_input_port_by_index_const \
	ctf_library.bt_component_sink_borrow_input_port_by_index_const_
#define bt_component_source_borrow_output_port_by_index_const \
	ctf_library.bt_component_source_borrow_output_port_by_index_const_
#define bt_component_source_get_output_port_count \
	ctf_library.bt_component_source_get_output_port_count_
#define bt_current_thread_clear_error ctf_library.bt_current_thread_clear_error_
#define bt_current_thread_take_error  ctf_library.bt_current_thread_take_error_
#define bt_error_borrow_cause_by_index \
	ctf_library.bt_error_borrow_cause_by_index_
#define bt_error_cause_get_message  ctf_library.bt_error_cause_get_message_
#define bt_error_get_cause_count    ctf_library.bt_error_get_cause_count_
#define bt_error_release            ctf_library.bt_error_release_
#define bt_event_borrow_class_const ctf_library.bt_event_borrow_class_const_
#define bt_event_borrow_common_context_field_const \
	ctf_library.bt_event_borrow_common_context_field_const_
#define bt_event_borrow_payload_field_const \
	ctf_library.bt_event_borrow_payload_field_const_
#define bt_event_borrow_specific_context_field_const \
	ctf_library.bt_event_borrow_specific_context_field_const_
#define bt_event_borrow_stream_const ctf_library.bt_event_borrow_stream_const_
#define bt_event_class_get_name      ctf_library.bt_event_class_get_name_
#define bt_field_array_borrow_element_field_by_index_const \
	ctf_library.bt_field_array_borrow_element_field_by_index_const_
#define bt_field_array_get_length   ctf_library.bt_field_array_get_length_
#define bt_field_borrow_class_const ctf_library.bt_field_borrow_class_const_
#define bt_field_class_structure_borrow_member_by_index_const \
	ctf_library.bt_field_class_structure_borrow_member_by_index_const_
#define bt_field_class_structure_get_member_count \
	ctf_library.bt_field_class_structure_get_member_count_
#define bt_field_class_structure_member_get_name \
	ctf_library.bt_field_class_structure_member_get_name_
#define bt_field_get_class_type ctf_library.bt_field_get_class_type_
#define bt_field_integer_signed_get_value \
	ctf_library.bt_field_integer_signed_get_value_
#define bt_field_integer_unsigned_get_value \
	ctf_library.bt_field_integer_unsigned_get_value_
#define bt_field_string_get_value ctf_library.bt_field_string_get_value_
#define bt_field_structure_borrow_member_field_by_index_const \
	ctf_library.bt_field_structure_borrow_member_field_by_index_const_
#define bt_graph_add_filter_component ctf_library.bt_graph_add_filter_component_
#define bt_graph_add_simple_sink_component \
	ctf_library.bt_graph_add_simple_sink_component_
#define bt_graph_add_source_component ctf_library.bt_graph_add_source_component_
#define bt_graph_connect_ports        ctf_library.bt_graph_connect_ports_
#define bt_graph_create               ctf_library.bt_graph_create_
#define bt_graph_put_ref              ctf_library.bt_graph_put_ref_
#define bt_graph_run_once             ctf_library.bt_graph_run_once_
#define bt_message_discarded_events_borrow_beginning_default_clock_snapshot_const \
	ctf_library                                                               \
		.bt_message_discarded_events_borrow_beginning_default_clock_snapshot_const_
#define bt_message_discarded_events_borrow_end_default_clock_snapshot_const \
	ctf_library                                                         \
		.bt_message_discarded_events_borrow_end_default_clock_snapshot_const_
#define bt_message_discarded_events_borrow_stream_const \
	ctf_library.bt_message_discarded_events_borrow_stream_const_
#define bt_message_discarded_events_get_count \
	ctf_library.bt_message_discarded_events_get_count_
#define bt_message_discarded_packets_borrow_beginning_default_clock_snapshot_const \
	ctf_library                                                                \
		.bt_message_discarded_packets_borrow_beginning_default_clock_snapshot_const_
#define bt_message_discarded_packets_borrow_end_default_clock_snapshot_const \
	ctf_library                                                          \
		.bt_message_discarded_packets_borrow_end_default_clock_snapshot_const_
#define bt_message_discarded_packets_borrow_stream_const \
	ctf_library.bt_message_discarded_packets_borrow_stream_const_
#define bt_message_event_borrow_default_clock_snapshot_const \
	ctf_library.bt_message_event_borrow_default_clock_snapshot_const_
#define bt_message_event_borrow_event_const \
	ctf_library.bt_message_event_borrow_event_const_
#define bt_message_get_type      ctf_library.bt_message_get_type_
#define bt_message_iterator_next ctf_library.bt_message_iterator_next_
#define bt_message_put_ref       ctf_library.bt_message_put_ref_
#define bt_plugin_borrow_filter_component_class_by_name_const \
	ctf_library.bt_plugin_borrow_filter_component_class_by_name_const_
#define bt_plugin_borrow_source_component_class_by_name_const \
	ctf_library.bt_plugin_borrow_source_component_class_by_name_const_
#define bt_plugin_find               ctf_library.bt_plugin_find_
#define bt_plugin_put_ref            ctf_library.bt_plugin_put_ref_
#define bt_stream_borrow_class_const ctf_library.bt_stream_borrow_class_const_
#define bt_stream_borrow_trace_const ctf_library.bt_stream_borrow_trace_const_
#define bt_stream_class_borrow_default_clock_class_const \
	ctf_library.bt_stream_class_borrow_default_clock_class_const_
#define bt_stream_class_borrow_event_class_by_index_const \
	ctf_library.bt_stream_class_borrow_event_class_by_index_const_
#define bt_stream_class_discarded_events_have_default_clock_snapshots \
	ctf_library                                                   \
		.bt_stream_class_discarded_events_have_default_clock_snapshots_
#define bt_stream_class_discarded_packets_have_default_clock_snapshots \
	ctf_library                                                    \
		.bt_stream_class_discarded_packets_have_default_clock_snapshots_
#define bt_stream_class_get_event_class_count \
	ctf_library.bt_stream_class_get_event_class_count_
#define bt_trace_borrow_environment_entry_value_by_name_const \
	ctf_library.bt_trace_borrow_environment_entry_value_by_name_const_
#define bt_value_array_append_string_element \
	ctf_library.bt_value_array_append_string_element_
#define bt_value_get_type   ctf_library.bt_value_get_type_
#define bt_value_map_create ctf_library.bt_value_map_create_
#define bt_value_map_insert_empty_array_entry \
	ctf_library.bt_value_map_insert_empty_array_entry_
#define bt_value_map_insert_string_entry \
	ctf_library.bt_value_map_insert_string_entry_
#define bt_value_put_ref    ctf_library.bt_value_put_ref_
#define bt_value_string_get ctf_library.bt_value_string_get_
#endif

#endif /* OW_CTFLIBRARY_H */
