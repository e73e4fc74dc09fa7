#include "reports/validation/html.hpp"

#include "reports/template.hpp"
#include "reports/validation/plot.hpp"
#include "reports/validation/tables.hpp"

namespace reports {
namespace {

using Data = TemplateData;

Data list_of(const std::vector<std::string>& texts) {
  Data list{Data::type::list};
  for (const std::string& text : texts) list.push_back(text);
  return list;
}

// The key names groups in the order in which the plots colour them: that of the table's rows.
Data subject_data(const validation::Assessment& a, const FigureTable& t) {
  Data groups{Data::type::list};
  for (std::size_t i = 0; i < t.rows.size(); ++i) {
    Data group;
    group.set("mark", key_svg(i));
    group.set("group", t.rows[i][0]);
    groups.push_back(group);
  }
  Data d;
  d.set("subject", std::string(validation::to_text(t.subject)));
  d.set("groups", groups);
  d.set("time_plot", plot_svg(a, t.subject, Shown::time));
  d.set("ratio_plot", plot_svg(a, t.subject, Shown::ratio));
  return d;
}

Data table_data(const FigureTable& t) {
  Data rows{Data::type::list};
  for (const auto& cells : t.rows) rows.push_back(Data("cells", list_of(cells)));
  Data d;
  d.set("heading", heading_of(t.subject));
  d.set("columns", list_of(t.columns));
  d.set("rows", rows);
  return d;
}

// Mustache has no condition on text: a section over a list of one text or none stands for it.
Data case_data(const validation::Item& i) {
  Data d;
  d.set("group", i.group);
  d.set("id", i.id);
  d.set("where", i.where);
  d.set("measured", base::to_text(i.measured));
  d.set("failures", list_of(i.failure.empty() ? std::vector<std::string>{} : std::vector{i.failure}));
  if (!i.failure.empty()) return d;
  d.set("predicted", base::to_text(i.predicted));
  d.set("error", error_of(i));
  return d;
}

Data worst_data(const validation::Assessment& a) {
  Data worst{Data::type::list};
  for (const validation::GroupAssessment& g : a.groups)
    for (const std::size_t index : g.worst) worst.push_back(case_data(a.items[index]));
  return worst;
}

}  // namespace

std::string html_report(const validation::Assessment& a) {
  Data subjects{Data::type::list}, tables{Data::type::list}, page;
  for (const FigureTable& t : figure_tables(a)) {
    subjects.push_back(subject_data(a, t));
    tables.push_back(table_data(t));
  }
  page.set("subjects", subjects);
  page.set("tables", tables);
  page.set("coverage", list_of(a.unseen ? std::vector{coverage_sentence(*a.unseen)} : std::vector<std::string>{}));
  page.set("worst", worst_data(a));
  page.set("notes", list_of(a.notes));
  return filled("page", page);
}

}  // namespace reports
